// Opens a call's page in a headless browser without scripts, clicks on the time of its 20th turn, and
// prints a line of JSON for each size of the screen: what the player does then. TestListen runs it.
import { createRequire } from "node:module";
import { join } from "node:path";

const [address, browser, folder] = process.argv.slice(2);
const modules = createRequire(join(process.env.CALLHOUSE_NODE_MODULES, "node_modules", "x"));
const puppeteer = modules("puppeteer-core");
// The policy for autoplay is the one that users have: sound only after a click on the site.
const chromium = await puppeteer.launch({ executablePath: browser, ignoreDefaultArgs: ["--mute-audio"], args: ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--autoplay-policy=document-user-activation-required"] });
for (const [size, width, height] of [["phone", 390, 844], ["desktop", 1280, 900]]) {
  const page = await chromium.newPage();
  const wrong = [], foreign = [];
  page.on("pageerror", (e) => wrong.push(String(e)));
  page.on("response", (r) => r.status() >= 400 && !r.url().endsWith("/favicon.ico") && wrong.push(`${r.url()}: ${r.status()}`));
  page.on("request", (r) => !r.url().startsWith("data:") && new URL(r.url()).origin !== new URL(address).origin && foreign.push(r.url()));
  await page.setViewport({ width, height, isMobile: size === "phone", hasTouch: size === "phone" });
  await page.setJavaScriptEnabled(false);
  await page.goto(address);
  await page.screenshot({ path: join(folder, `listen-before-${size}.png`) });
  const link = await page.$("#turn-20 a");
  await link.evaluate((a) => a.scrollIntoView({ block: "center" }));
  await Promise.all([page.waitForNavigation(), size === "phone" ? link.tap() : link.click()]);
  const tell = () => page.evaluate(() => {
    const audio = document.querySelector("audio"), turn = document.querySelector("#turn-20").getBoundingClientRect(), player = audio.getBoundingClientRect();
    return { duration: audio.duration, time: audio.currentTime, paused: audio.paused, wide: document.documentElement.scrollWidth - innerWidth,
      inView: player.top >= 0 && player.bottom <= turn.top && turn.bottom <= innerHeight };
  });
  let seen = await tell();
  for (let i = 0; i < 100 && !(seen.time > 7.6 && seen.duration); i++) { // until it plays
    await new Promise((go) => setTimeout(go, 100));
    seen = await tell();
  }
  await page.screenshot({ path: join(folder, `listen-${size}.png`) });
  console.log(JSON.stringify({ size, ...seen, wrong, foreign }));
  await page.close();
}
await chromium.close();
