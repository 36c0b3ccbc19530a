package sandbox
import ("testing";"time";"fmt";"sort";"encoding/json")
func TestQuick(t *testing.T){
 now:=time.Date(2026,11,19,9,30,0,0,time.UTC)
 w,err:=NewWorld(Config{Seed:1,Calls:20000,Origin:now}); if err!=nil{t.Fatal(err)}
 var r Renderer; var sizes,talk []int; items,tools:=0,0; beats:=map[int]int{}
 byReason:=map[string][3]int{}; dur:=map[string][]int{}
 hour:=map[int]int{}; type ag struct{n,conn,pos,neg,tr int}; ags:=map[int]*ag{}
 var first, last int64
 var scale []float64
 for v:=range w.Visible(now) { b:=r.Detail(nil,v); if !json.Valid(b){t.Fatal(string(b))}
  sizes=append(sizes,len(b)); if v.Transcript{talk=append(talk,len(b))
   for i,c:=range v.counts{items+=c;if i>=2{tools+=c}}; beats[int(v.beatN)]++ 
   if v.beatN>0 {scale=append(scale,float64(v.EndAt-v.StartAt)/v.usual())}}
  x:=byReason[v.Status+" "+v.Reason]; x[0]++; if v.Sentiment=="positive"{x[1]++}; if v.Sentiment=="negative"{x[2]++}; byReason[v.Status+" "+v.Reason]=x
  if v.Over {dur[v.Status+" "+v.Reason]=append(dur[v.Status+" "+v.Reason],int(v.EndAt-v.StartAt))}
  hour[int((v.StartAt+zoneOffset)%msDay/msHour)]++
  a:=ags[v.Agent.Number]; if a==nil{a=&ag{};ags[v.Agent.Number]=a}; a.n++; if v.Connected(){a.conn++}; if v.Sentiment=="positive"{a.pos++}; if v.Sentiment=="negative"{a.neg++}; if v.Reason=="call_transfer"{a.tr++}
  if last==0 {last=v.StartAt}; first=v.StartAt
 }
 q:=func(s []int,p float64)int{ if len(s)==0{return 0}; sort.Ints(s); return s[int(float64(len(s)-1)*p)]}
 fmt.Println("span days",float64(last-first)/float64(msDay))
 fmt.Println("sizes",q(sizes,0),q(sizes,.1),q(sizes,.5),q(sizes,.9),q(sizes,.99),q(sizes,1),"talk",q(talk,0),q(talk,.5),q(talk,.9),q(talk,1),len(talk))
 fmt.Println("items",items,"tools",float64(tools)/float64(items))
 sort.Float64s(scale); fmt.Println("scale",scale[0],scale[len(scale)/2],scale[len(scale)-1])
 var ks []string; for k:=range byReason{ks=append(ks,k)}; sort.Strings(ks)
 for _,k:=range ks{x:=byReason[k]; fmt.Printf("%-40s %6d pos %.2f neg %.2f dur %d %d %d %d\n",k,x[0],float64(x[1])/float64(x[0]),float64(x[2])/float64(x[0]),q(dur[k],0),q(dur[k],.5),q(dur[k],.9),q(dur[k],1))}
 for h:=range 24{fmt.Print(hour[h]," ")}; fmt.Println()
 for i:=range 30{a:=ags[i]; if a==nil{continue}; g:=w.agents[i]; fmt.Printf("%2d %s %-24s n %5d conn %.2f pos %.2f neg %.2f transf %.3f lat %.0f %s\n",i,g.Language,g.Scenario,a.n,float64(a.conn)/float64(a.n),float64(a.pos)/float64(a.conn),float64(a.neg)/float64(a.conn),float64(a.tr)/float64(a.conn),g.latency,g.versions[0].label)}
 fmt.Println(beats)
}
func BenchmarkCall(b *testing.B){ w,_:=NewWorld(Config{Seed:1,Calls:20000,Origin:time.Unix(1795080600,0)}); var c Call; for i:=range b.N{w.Call(&c,int64(i))}}
func BenchmarkDetail(b *testing.B){ now:=time.Unix(1795080600,0);w,_:=NewWorld(Config{Seed:1,Calls:20000,Origin:now}); var r Renderer; var buf []byte; n:=0; b.ReportAllocs(); for i:=range b.N{v,_:=w.View(int64(i%19000),now); buf=r.Detail(buf[:0],v); n+=len(buf)}; b.SetBytes(int64(n/b.N))}
func BenchmarkTruth(b *testing.B){ now:=time.Unix(1795080600,0);w,_:=NewWorld(Config{Seed:1,Calls:100000,Origin:now}); for range b.N{w.Truth(now)}}
