// A walk through the page while a run is at work: node page.mjs ADDRESS FOLDER. page_test.go starts it.
import { check, inspect, keyboard, launch, limit, open } from "./browser.mjs";

const [address, folder] = process.argv.slice(2);
const base = address.slice(0, address.indexOf("#")), proof = address.slice(address.indexOf("#"));
const browser = await launch();
const page = await open(browser, { viewport: { width: 1280, height: 900 } });
const text = (selector) => page.locator(selector).first().innerText();

// The run starts, and the grid is complete before it is done.
await page.goto(base);
await page.waitForFunction(async () => {
  const runs = await (await fetch("/v1/runs")).json();
  return runs.runs.length === 2 && runs.runs[0].status === "running";
}, undefined, { timeout: limit });
const run = await page.evaluate(async () => (await (await fetch("/v1/runs")).json()).runs[0].id);
await page.reload();
await page.getByRole("link", { name: run }).click();
await page.waitForURL("**/runs/" + run);
await page.locator(".notice").first().waitFor();
const rows = page.locator("#grid tbody tr");
check(await rows.count() === 11, `the grid has ${await rows.count()} rows, want 11`);
const cell = (node) => rows.filter({ hasText: node }).locator(".cell").last();
check(await cell("cmp6").innerText() === "waiting", "cmp6 does not wait: " + await cell("cmp6").innerText());

// Failures: a node, its task, and what it says.
await page.getByLabel("failed only").check();
await page.waitForFunction(() => [...document.querySelectorAll("#grid tbody tr")].filter((r) => !r.hidden).length === 1);
check(new URL(page.url()).search === "?failed=true", "the filter is not in the address: " + page.url());
await page.reload();
check(await rows.count() === 1, "the address with the filter shows other nodes");
await rows.getByRole("link", { name: "ctl2" }).click();
await page.getByRole("heading", { name: "Tasks" }).waitFor();
await page.locator("tr", { hasText: "failed" }).getByRole("link").click();
await page.waitForURL("**/tasks/*");
const failed = page.url();
check((await text("main")).includes("/etc/proxy.conf"), "the task does not say what failed: " + await text("main"));
check((await text("dl")).includes("director"), "the task does not say why: " + await text("dl"));

// Drift.
await page.getByRole("link", { name: "Drift" }).first().click();
await page.getByRole("heading", { name: "Drift" }).waitFor();
check((await page.locator("tr", { hasText: "mon1" }).first().innerText()).includes("/etc/motd"), "the drift that the check found is not shown");
const drifted = page.locator("tr", { hasText: "mon1" }).last(); // of the run
await drifted.locator("summary").click();
check((await drifted.innerText()).includes("-hand-made"), "the drift is not shown: " + await drifted.innerText());

// The service: its lifecycle, and what changed from version to version.
await page.getByRole("link", { name: "Services" }).click();
await page.getByRole("link", { name: "proxy" }).click();
await page.getByRole("heading", { name: "Lifecycle" }).waitFor();
check(await page.locator("svg .current").count() === 1, "no state is marked");
for (const summary of await page.locator("details summary").all()) await summary.click();
check(/80[\s\S]*443|443[\s\S]*80/.test(await text("main")), "the history does not have both ports");

// Who has no token may not decide; who opened the printed address may.
await page.goto(base + "runs/" + run + "/approval");
const form = page.locator("section.notice form");
await form.getByLabel("Your token").fill("not the token of anybody");
await form.getByRole("button").click();
await form.getByText("has the wrong token").waitFor();
page.complaints.length = 0; // the browser reports the refusal
await page.goto(base + "runs/" + run + "/approval" + proof);
await page.reload(); // the address without its proof, which the tab remembers
check(!page.url().includes("decide="), "the proof stays in the address");
const grid = await page.context().newPage();
grid.setDefaultTimeout(limit);
const said = []; // what the live region says while the page fills
await grid.exposeFunction("heard", (text) => said.push(text));
await grid.addInitScript(() => addEventListener("DOMContentLoaded", () => {
  const region = document.querySelector("[role=status][aria-live=polite]");
  if (region) new MutationObserver(() => globalThis.heard(region.textContent)).observe(region, { childList: true, characterData: true, subtree: true });
}));
await grid.goto(base + "runs/" + run);
check(!(await form.getByLabel("Your token").isVisible()), "the token is asked for again");
await form.getByLabel("Reason").fill("the canary is fine");
await form.getByRole("button", { name: "Approve" }).click();
await page.getByText("Recorded: approve batch 1 of group compute").waitFor();
// The other tab fills without being loaded by hand.
await grid.waitForFunction(() => !document.getElementById("live") &&
  [...document.querySelectorAll("#grid tbody tr")].filter((r) => r.textContent.includes("cmp"))
    .every((r) => r.textContent.includes("DEPLOYED")), undefined, { timeout: limit });
// A run that ends at once may have nothing to say before its page is loaded again.
check(said.every((s) => / of 11 nodes finished/.test(s)), "what a screen reader says of the progress: " + said.join("; "));
await grid.close();

// Every page at both widths, light and dark.
const pages = { overview: "", nodes: "runs/" + run, failed: "runs/" + run + "?failed=true", groups: "runs/" + run + "/groups",
  timeline: "runs/" + run + "/timeline", plan: "runs/" + run + "/plan", drift: "drift", decisions: "runs/" + run + "/approval",
  node: "runs/" + run + "/nodes/ctl2", task: failed.slice(base.length), services: "services", service: "services/proxy" };
for (const [width, height] of [[1280, 900], [390, 844]]) {
  for (const colorScheme of ["light", "dark"]) {
    const one = await open(browser, { viewport: { width, height }, colorScheme });
    for (const [name, path] of Object.entries(pages)) {
      await one.goto(base + path);
      await inspect(one, `${name}-${width}-${colorScheme}`, folder);
    }
    await one.context().close();
  }
}

// By keyboard: the first key leads past the navigation, and each page is walked through from its start to its end.
await page.goto(base + "runs/" + run);
await page.keyboard.press("Tab");
check(await page.evaluate(() => document.activeElement.className) === "skip", "the first key does not lead to the content");
await page.keyboard.press("Enter");
await page.keyboard.press("Tab");
check(await page.evaluate(() => document.querySelector("main").contains(document.activeElement)), "the content is not reached by keyboard");
for (const [width, height] of [[1280, 900], [390, 844]]) {
  await page.setViewportSize({ width, height });
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(base + path);
    await page.evaluate(() => { for (const d of document.querySelectorAll("details")) d.open = true; }); // what they hide is reached, too
    console.log(`${name}, ${width} pixels: ${await keyboard(page, `${name}-${width}`, folder)} elements by keyboard`);
  }
}

// Without script: the same grid.
const plain = await open(browser, { javaScriptEnabled: false });
await plain.goto(base + "runs/" + run + "?failed=true");
check(await plain.locator("#grid tbody tr").count() === 1, "without script the filter does not work");
await browser.close();
console.log("walked through", Object.keys(pages).length, "pages");
