// What the tests of the page share: the browser, and what axe says of a page.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export const tools = createRequire(join(process.env.SLIPWAY_PAGE_TOOLS, "package.json"));
const { chromium } = tools("playwright-core");
const axe = readFileSync(tools.resolve("axe-core/axe.min.js"), "utf8");

// limit is what a step may take at most, in milliseconds, on a machine that does much else.
export const limit = 120_000;

export const launch = () => chromium.launch({
  executablePath: "/usr/bin/chromium", timeout: limit,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});

// open opens a page of the browser, and reports what the page complains of: an error, or what the policy refuses.
export async function open(browser, settings) {
  const context = await browser.newContext(settings);
  context.setDefaultTimeout(limit);
  const page = await context.newPage();
  page.complaints = [];
  page.on("pageerror", (e) => page.complaints.push(String(e)));
  page.on("console", (m) => { if (m.type() === "error") page.complaints.push(m.text()); });
  return page;
}

export function check(is, what) { if (!is) throw new Error(what); }

// inspect fails when axe finds a serious violation, when the page is wider than the window, or when it complained.
export async function inspect(page, name, folder) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const serious = found.violations.filter((v) => v.impact === "serious" || v.impact === "critical");
  check(serious.length === 0, `${name}: ${serious.map((v) => `${v.id}: ${v.help}: ${v.nodes[0].html} ${v.nodes[0].failureSummary}`).join("\n")}`);
  const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  check(wide <= window, `${name}: the page is ${wide} pixels wide, the window ${window}`);
  check(page.complaints.length === 0, `${name}: ${page.complaints.join("; ")}`);
  const size = page.viewportSize(); // what is outside of the window is not painted
  await page.setViewportSize({ width: size.width, height: await page.evaluate(() => document.documentElement.scrollHeight) });
  await page.screenshot({ path: join(folder, name + ".png") });
  await page.setViewportSize(size);
}
