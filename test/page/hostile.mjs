// Every page with the hostile corpus in a browser: node hostile.mjs ADDRESS PATTERNS. page_test.go starts it; it records
// more of the corpus at the first line "next", and ends the run at the second.
import { check, launch, limit, open } from "./browser.mjs";

const [address, json] = process.argv.slice(2);
const { patterns, elements, markup, printing } = JSON.parse(json);
const base = address.slice(0, address.indexOf("#")), proof = address.slice(address.indexOf("#"));
const browser = await launch();
const page = await open(browser, { viewport: { width: 1280, height: 900 } });
page.on("dialog", (d) => { page.complaints.push("a dialog: " + d.message()); d.dismiss(); });
await page.addInitScript(() => { globalThis.owned = () => console.error("the corpus was run"); });

// inspect fails when the page has more than its template makes, or ran something; it returns the page's text.
async function inspect(where) {
  const found = await page.evaluate((elements) => {
    const wrong = [];
    for (const e of document.querySelectorAll("*")) {
      const name = e.localName;
      if (!elements.includes(name)) wrong.push(`an element <${name}>`);
      if (name === "script" && e.getAttribute("src") !== "/assets/page.js") wrong.push("a script");
      if (name === "svg" && !/^(drawing|timeline)$/.test(e.getAttribute("class"))) wrong.push("a drawing");
      for (const a of e.attributes) {
        if (/^(on|style$|srcdoc$|formaction$)/i.test(a.name)) wrong.push(`<${name} ${a.name}>`);
      }
      if (e.href && typeof e.href === "string" && new URL(e.href).origin !== location.origin) wrong.push(`a link to ${e.href}`);
    }
    return { wrong, text: document.body.textContent, links: [...document.querySelectorAll("a[href^='/']")].map((a) => a.href) };
  }, elements);
  check(found.wrong.length === 0, `${where}: ${found.wrong.slice(0, 5).join(", ")}`);
  const complaints = page.complaints.filter((c) => !/responded with a status of 4\d\d/.test(c)); // refusals that are asked for
  check(complaints.length === 0, `${where}: ${complaints.join("; ")}`);
  check(!found.text.includes("owned") || found.text.includes(markup), `${where} does not show the corpus as text`);
  return found;
}

// Every page, from link to link; of each kind several.
const matching = (path) => patterns.find((p) => p.split("/").length === path.split("/").length &&
  p.split("/").every((part, i) => part.startsWith("{") && (part !== "{$}" || path === "/") || part === path.split("/")[i]));
const walk = async () => {
  const visited = new Map(), queue = [base], seen = new Set(queue);
  while (queue.length > 0) {
    const next = queue.shift(), kind = matching(new URL(next).pathname);
    check(kind, "a link leads to no page: " + next);
    if ((visited.get(kind) ?? 0) >= 12) continue;
    visited.set(kind, (visited.get(kind) ?? 0) + 1);
    await page.goto(next);
    const { links } = await inspect(next);
    for (const link of links.map((l) => l.replace(/#.*/, ""))) {
      if (!seen.has(link)) { seen.add(link); queue.push(link); }
    }
  }
  const missing = patterns.filter((p) => !visited.has(p));
  check(missing.length === 0, "no link leads to " + missing.join(", "));
  return [...visited.values()].reduce((a, b) => a + b);
};
let walked = await walk();
for (const path of ["runs/", "services/", "?site=", "runs/run-1/nodes/", "runs/run-1/tasks/"]) { // what does not exist
  const answer = await page.goto(base + path + encodeURIComponent("no" + markup));
  check(answer.status() >= 400, path + " of the corpus exists");
  await inspect(path + " that does not exist");
  walked++;
}

// What comes while the run goes on: into the pages of a node and of a task, and into the grid.
const pages = [];
for (const path of [printing, "runs/run-1"]) {
  const one = await page.context().newPage();
  one.setDefaultTimeout(limit);
  await one.goto(base + path);
  await one.waitForFunction(() => document.getElementById("live").hidden);
  pages.push(one);
}
console.log("next");
await pages[0].waitForFunction((markup) => document.querySelector("pre").textContent.includes("more of it: " + markup), markup);
await pages[1].waitForFunction((markup) => [...document.querySelectorAll("#grid .reached")].some((c) => c.textContent.includes("at its end: " + markup)), markup);
await pages[1].waitForFunction((markup) => document.getElementById("failures").textContent.includes("refused: " + markup), markup);
check(await pages[1].locator("#failures img, #failures svg, #failures script").count() === 0, "the list of failed tasks has more than text");
check(await pages[1].locator("#live").count() === 1, "the run has not ended");
check(await pages[0].locator("pre script, pre img, pre svg").count() === 0, "what a task prints is more than text");
check(await pages[1].locator("#grid img, #grid svg, #grid script").count() === 0, "the grid has more than text");

// A decision about a group with a hostile name, for a hostile reason.
await page.goto(base + "runs/run-1/approval" + proof);
const form = page.locator("section.notice form");
await form.getByLabel("Reason").fill(markup);
await form.getByRole("button").click();
await form.locator("[role=status]", { hasText: "owned" }).waitFor();
await inspect("a decision");
const whole = page.locator("form.decide", { has: page.getByRole("button", { name: "Resume" }) });
await whole.getByLabel("Reason").fill(markup);
await whole.getByRole("button").click();
await whole.getByText("Recorded: resume").waitFor();
await inspect("a decision that is recorded");
console.log("next");
await pages[1].waitForFunction(() => !document.getElementById("live"), undefined, { timeout: limit });
for (const one of pages) await one.close();
walked += await walk();
await browser.close();
console.log("walked through", walked, "pages");
