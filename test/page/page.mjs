// A walk through the page while a run is at work: node page.mjs ADDRESS FOLDER SITE. page_test.go starts it; a task of the run
// goes on when the files that it waits for are in the folder SITE.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, inspect, keyboard, launch, limit, open, picture } from "./browser.mjs";

const [address, folder, site] = process.argv.slice(2);
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

// What a task prints is read while it runs, by a page that is not loaded anew, and when it has failed.
const failures = await page.context().newPage(); // an address that was shared: those that fail later come to it
failures.setDefaultTimeout(limit);
await page.getByRole("link", { name: "mon1" }).click();
const output = page.locator("details", { hasText: "Output" }).locator("pre");
await page.waitForFunction(() => { // until the task runs, the page is loaded when another one ends
  const pre = document.querySelector("details:not([hidden]) pre[id]");
  return pre?.textContent.includes("asking mon1: is it up?");
}, undefined, { timeout: limit });
await page.evaluate(() => { globalThis.same = true; });
await failures.goto(base + "runs/" + run + "?failed=true");
await failures.locator("#grid tbody tr", { hasText: "ctl2" }).waitFor();
check(await failures.locator("#grid tbody tr").count() === 1, "more than one node failed");
writeFileSync(join(site, "ask"), "");
await output.getByText("asking mon1 once more").waitFor();
check(await page.evaluate(() => globalThis.same), "the page was loaded anew to show what was printed");
await page.locator("tr", { has: output }).getByRole("link").click();
await page.waitForURL("**/tasks/*");
check((await text("main")).includes("asking mon1 once more"), "the page of the task lacks what it printed: " + await text("main"));
// A pause, which the other tab says at once, with who and why. While it lasts, what was started ends, and nothing is started.
const person = await page.context().newPage();
person.setDefaultTimeout(limit);
await person.goto(base + "runs/" + run + "/approval" + proof);
const decide = (name) => person.locator("form.decide", { has: person.getByRole("button", { name, exact: true }) });
const notice = failures.locator(".notice", { hasText: "Paused" });
check(await notice.count() === 0, "the run is paused");
await decide("Pause").getByLabel("Reason").fill("the switch is replaced");
await decide("Pause").getByRole("button").click();
await notice.getByText("the switch is replaced").waitFor();
check(/since .* UTC, until a person resumes it/.test(await notice.innerText()), "the pause does not say what ends it: " + await notice.innerText());
writeFileSync(join(site, "answer"), "");
await page.getByRole("heading", { name: "failed" }).waitFor(); // it is loaded when the task has ended
const printed = page.url(), read = await page.locator("pre").innerText();
check(/is it up\?\s+asking mon1 once more\s+mon1 does not answer/.test(read), "the output of the failed task: " + read);
await failures.locator("#grid tbody tr", { hasText: "mon1" }).waitFor();
await person.reload();
await decide("Resume").getByRole("button").click();
await notice.waitFor({ state: "detached" });
await person.close();
await failures.close();

await page.goto(base + "runs/" + run);
await page.locator(".notice").first().waitFor();
const rows = page.locator("#grid tbody tr");
check(await rows.count() === 11, `the grid has ${await rows.count()} rows, want 11`);
const cell = (node) => rows.filter({ hasText: node }).locator(".cell").last();
check(await cell("cmp6").innerText() === "waiting", "cmp6 does not wait: " + await cell("cmp6").innerText());

// Failures: a node, its task, and what it says.
await page.getByLabel("failed only").check();
await page.waitForFunction(() => [...document.querySelectorAll("#grid tbody tr")].filter((r) => !r.hidden).length === 2);
check(new URL(page.url()).search === "?failed=true", "the filter is not in the address: " + page.url());
await page.getByLabel("Search").fill("CTL");
await page.waitForFunction(() => [...document.querySelectorAll("#grid tbody tr")].filter((r) => !r.hidden).length === 1);
check(new URL(page.url()).search === "?q=CTL&failed=true", "the search is not in the address: " + page.url());
const shared = page.url();
await page.reload();
check(await rows.count() === 1, "the address with the filter shows other nodes");
check(await page.getByLabel("failed only").isChecked() && await page.getByLabel("Search").inputValue() === "CTL", "the address shows another filter");
await page.getByLabel("failed only").uncheck(); // the page lacks these nodes, so it is loaded with the filter
await page.waitForFunction(() => document.querySelectorAll("#grid tbody tr").length === 3);
check(new URL(page.url()).search === "?q=CTL", "the address has another filter: " + page.url());
await page.goto(shared);
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
await picture(page, "decisions", folder);
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
  node: "runs/" + run + "/nodes/ctl2", task: failed.slice(base.length), output: printed.slice(base.length), services: "services", service: "services/proxy" };
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

// Pictures for the guide.
for (const [name, path] of Object.entries(pages)) {
  if (["failed", "decisions", "task", "services"].includes(name)) continue; // they look like others, or are over
  await page.goto(base + path);
  await picture(page, name, folder);
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
check(await plain.locator("#grid tbody tr").count() === 2, "without script the filter does not work");
await browser.close();
console.log("walked through", Object.keys(pages).length, "pages");
