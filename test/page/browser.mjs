// What the tests of the page share: the browser, and what axe says of a page.
import { readFileSync, writeFileSync } from "node:fs";
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

// keyboard walks through a page by keyboard alone, from its start to its end. It fails when something that can be used is not
// reached, is reached in another order than it is read in, has no name, or does not show that it has the focus. What a screen
// reader gets of the page stays beside the screenshots.
export async function keyboard(page, name, folder) {
  const wanted = await page.evaluate(() => {
    const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
      .filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({ visibilityProperty: true }));
    all.forEach((e, i) => { e.dataset.order = i; });
    document.activeElement.blur();
    scrollTo(0, 0);
    return all.map((e) => e.outerHTML.slice(0, 120));
  });
  check(wanted.length > 0 && wanted[0].includes('class="skip"'), `${name}: the first key does not lead past the navigation: ${wanted[0]}`);
  for (let i = 0; i < wanted.length; i++) {
    await page.keyboard.press("Tab");
    const [at, shown] = await page.evaluate(() => {
      const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
      return [e.dataset.order ?? e.tagName, style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 &&
        box.bottom > 0 && box.top < innerHeight];
    });
    check(at === String(i), `${name}: the key ${i + 1} leads to ${at}, and not to ${wanted[i]}`);
    check(shown, `${name}: nothing shows the focus of ${wanted[i]}`);
  }
  await page.keyboard.press("Tab"); // out of the page: nothing keeps the focus
  check(await page.evaluate(() => document.activeElement.dataset.order ?? "0") === "0", `${name}: the focus does not leave the page`);
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  const has = (n, property) => n.properties?.some((p) => p.name === property && p.value.value);
  const nameless = nodes.filter((n) => !n.ignored && n.role.value !== "RootWebArea" && has(n, "focusable") && !n.name?.value.trim());
  check(nameless.length === 0, `${name}: without a name: ${nameless.map((n) => n.role.value).join(", ")}`);
  await session.detach();
  writeFileSync(join(folder, name + ".aria.txt"), await page.locator("body").ariaSnapshot());
  return wanted.length;
}

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

// picture takes a picture of the upper part of a page for the guide: view-NAME.png.
export async function picture(page, name, folder) {
  const size = page.viewportSize();
  await page.setViewportSize({ width: 1000, height: 800 });
  const height = await page.evaluate(() => Math.ceil(document.querySelector("main").getBoundingClientRect().bottom + scrollY));
  await page.setViewportSize({ width: 1000, height: Math.min(height, name === "timeline" ? 800 : 520) });
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: join(folder, `view-${name}.png`) });
  await page.setViewportSize(size);
}
