// The page of a run on many nodes while all of them change: node many.mjs ADDRESS FOLDER NODES PHASES. page_test.go starts
// it, and records the next changes at each line "next".
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { check, launch, limit, open } from "./browser.mjs";

const [address, folder, nodes, phases] = process.argv.slice(2);
const base = address.slice(0, address.indexOf("#"));
const browser = await launch();
const page = await open(browser, { viewport: { width: 1280, height: 900 } });
const file = join(folder, "many.trace.json");
await browser.startTracing(page, { path: file, screenshots: false, categories: ["toplevel", "devtools.timeline", "blink.user_timing", "loading",
  "disabled-by-default-devtools.timeline"] });
// painted is when the browser painted the page first, in milliseconds of the clock since the navigation began.
const painting = async (page) => {
  await page.goto(base + "runs/run-1");
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
  return page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
};
const paints = [await painting(page)];
const cells = await page.locator("#grid .cell").count();
check(cells === nodes * phases, `the grid has ${cells} cells`);
const load = await page.evaluate(() => { const t = performance.getEntriesByType("navigation")[0];
  return [t.responseStart - t.requestStart, t.responseEnd - t.responseStart, t.domInteractive - t.responseEnd, t.decodedBodySize / 1024]; });
await page.evaluate(() => performance.mark("loaded"));
for (let phase = phases / 2; phase <= phases; phase++) {
  console.log("next");
  await page.waitForFunction((all) => document.getElementsByClassName("done").length >= all, nodes * phase,
    { timeout: limit, polling: 500 });
}
await page.evaluate(() => performance.mark("updated"));
await browser.stopTracing();
await page.screenshot({ path: join(folder, "many-1280-light.png") });
// By the clock, too: what else the machine does is in it, so the best of some counts, each in a browser that has seen nothing.
while (Math.min(...paints) > 1000 && paints.length < 10) {
  const other = await open(browser, { viewport: { width: 1280, height: 900 } });
  paints.push(await painting(other));
  await other.context().close();
}
const said = await page.locator("[role=status][aria-live=polite]").textContent();
check(/ of \d+ nodes finished/.test(said), "what a screen reader says of the progress: " + said);

// The times are those of the processor in the thread, so that what else the machine does is not in them.
const { traceEvents: events } = JSON.parse(readFileSync(file));
const mark = (name) => events.find((e) => e.cat.includes("blink.user_timing") && e.name === name);
const loaded = mark("loaded"), updated = mark("updated");
const tasks = events.filter((e) => e.pid === loaded.pid && e.tid === loaded.tid && e.ph === "X" && e.name.endsWith("RunTask"));
const painted = events.find((e) => e.pid === loaded.pid && e.name === "firstContentfulPaint");
const spent = (e) => (e.tdur ?? e.dur) / 1000;
const before = tasks.filter((e) => e.ts < painted.ts).reduce((sum, e) => sum + spent(e), 0);
const during = tasks.filter((e) => e.ts > loaded.ts && e.ts < updated.ts);
const longest = Math.max(...during.map(spent));
console.log(`first paint: ${Math.round(before)} ms of the main thread, ${paints.map(Math.round).join(", ")} ms by the clock`);
console.log(`by the clock: ${Math.round(load[0])} ms until serve answers, ${Math.round(load[1])} ms for ${Math.round(load[3])} KiB, ` +
  `${Math.round(load[2])} ms until they are read, ${Math.round(paints[0])} ms until the first paint since the start`);
const heavy = during.find((e) => spent(e) === longest);
const inside = events.filter((e) => e.pid === heavy.pid && e.tid === heavy.tid && e.ph === "X" && e !== heavy && e.ts >= heavy.ts &&
  e.ts < heavy.ts + heavy.dur).sort((a, b) => spent(b) - spent(a)).slice(0, 6).map((e) => `${e.name} ${spent(e).toFixed(1)}`);
console.log(`the longest task has: ${inside.join(", ")}`);
console.log(`updates of ${nodes} nodes: the longest task took ${longest.toFixed(1)} ms of the main thread, all of ${during.length} together ` +
  `${Math.round(during.reduce((sum, e) => sum + spent(e), 0))} ms`);
check(before < 1000, "the first paint takes a second of the main thread or more");
check(Math.min(...paints) < 1000, "by the clock, the first paint takes a second or more");
check(longest < 50, "an update takes 50 ms of the main thread or more");
console.log("next");
await browser.close();
