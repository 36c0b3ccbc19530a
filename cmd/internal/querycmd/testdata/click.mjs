// Clicks through the live page in a headless browser, from a day's bar to its calls, to one
// conversation and to its agent, in two sizes and both themes, and lets axe look at each. It prints a line of JSON for each page that it
// comes to, and leaves pictures in a folder. TestClickThrough runs it.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [address, browser, folder] = process.argv.slice(2);
const modules = createRequire(join(process.env.CALLHOUSE_NODE_MODULES, "node_modules", "x"));
const puppeteer = modules("puppeteer-core");
const axe = readFileSync(modules.resolve("axe-core/axe.min.js"), "utf8");
const chromium = await puppeteer.launch({ executablePath: browser, args: ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"] });
for (const [size, width, height] of [["phone", 390, 844], ["desktop", 1280, 900]]) {
  for (const theme of ["light", "dark"]) {
    const page = await chromium.newPage();
    const wrong = [];
    page.on("pageerror", (e) => wrong.push(String(e)));
    page.on("requestfailed", (r) => wrong.push(r.url() + " failed"));
    page.on("response", (r) => r.status() >= 400 && !r.url().endsWith("/favicon.ico") && wrong.push(`${r.url()}: ${r.status()}`));
    await page.setViewport({ width, height });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
    await page.setJavaScriptEnabled(false); // the page works without
    const tell = async (step, counted) => {
      const seen = await page.evaluate(() => ({
        path: location.pathname, wide: document.documentElement.scrollWidth - innerWidth, rows: document.querySelectorAll("main tbody tr, main .talk li").length,
        ground: getComputedStyle(document.body).backgroundColor,
      }));
      await page.screenshot({ path: join(folder, `${step}-${size}-${theme}.png`) });
      const checked = await chromium.newPage(); // axe needs scripts
      await checked.setBypassCSP(true);
      await checked.setViewport({ width, height });
      await checked.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
      await checked.goto(page.url());
      await checked.evaluate(axe);
      seen.violations = await checked.evaluate(async () => {
        for (const d of document.querySelectorAll("details")) d.open = true;
        return (await globalThis.axe.run(document)).violations.map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 200)}`);
      });
      await checked.close();
      console.log(JSON.stringify({ size, theme, step, counted, wrong, ...seen }));
    };
    // seen returns the one in the middle of the elements that are to be seen.
    const seen = async (selector) => {
      const all = [];
      for (const e of await page.$$(selector)) {
        const box = await e.boundingBox();
        if (box && box.width > 0 && box.height > 0) all.push(e);
      }
      if (all.length === 0) throw new Error(`${page.url()} has no ${selector}`);
      return all[all.length >> 1];
    };
    const follow = (e) => Promise.all([page.waitForNavigation(), e.evaluate((a) => a.scrollIntoView({ block: "center" })).then(() => e.click())]);
    await page.goto(address);
    await tell("page");
    await (await seen("#course svg")).evaluate((e) => e.scrollIntoView({ block: "center" }));
    await page.screenshot({ path: join(folder, `chart-${size}-${theme}.png`) });
    const bar = await seen("#course svg a");
    const counted = await bar.evaluate((a) => {
      const row = [...document.querySelectorAll("#course tbody tr")].find((tr) => tr.querySelector("th a")?.getAttribute("href") === a.getAttribute("href"));
      return Number(row.querySelector("td data").value);
    });
    await follow(bar);
    await tell("calls", counted);
    await follow(await seen('main tbody a[href^="/calls/"]'));
    await tell("call");
    await follow(await seen('.facts a[href*="agent="]'));
    await tell("agent");
    await page.close();
  }
}
await chromium.close();
