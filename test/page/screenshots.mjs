// Pictures for the README: node screenshots.mjs ADDRESS RECORDINGS FOLDER. The script screenshots starts it. What a terminal
// got is in RECORDINGS, and a terminal in the browser shows it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { check, launch, open, tools } from "./browser.mjs";

const [address, recordings, folder] = process.argv.slice(2);
const browser = await launch();
const settings = { viewport: { width: 1280, height: 800 }, colorScheme: "light" };

// recorded is what a program wrote, without the two lines of script.
const recorded = (name) => readFileSync(join(recordings, name), "utf8").replace(/^Script started.*\r?\n/, "").replace(/\r?\n?Script done[^\n]*\n?$/, "");

// terminal shows what a terminal of 120 columns got, and takes a picture of it.
async function terminal(name, rows, text) {
  const page = await open(browser, settings);
  await page.setContent("<body style='margin:0;display:inline-block;padding:12px;background:#16181d'><div id=t></div>");
  await page.addStyleTag({ path: tools.resolve("@xterm/xterm/css/xterm.css") });
  await page.addScriptTag({ path: tools.resolve("@xterm/xterm/lib/xterm.js") });
  await page.evaluate(async ({ rows, text }) => {
    const t = new Terminal({ cols: 120, rows, scrollback: 0, fontSize: 14, lineHeight: 1.2, fontFamily: "DejaVu Sans Mono, monospace",
      cursorInactiveStyle: "none", theme: { background: "#16181d", foreground: "#d6d9e0" } });
    t.open(document.getElementById("t"));
    await new Promise((done) => t.write(text, done));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  }, { rows, text });
  await page.locator("body").screenshot({ path: join(folder, name + ".png") });
  await page.close();
}

// The plan, without what is between the deployment's first line and its steps.
const plan = recorded("plan").split("\r\n");
const plain = plan.map((line) => line.replace(/\x1b\[[0-9;]*m/g, ""));
const first = plain.findIndex((line) => line.includes("# module.site.slipway_deployment.this")), steps = plain.findIndex((line) => line.startsWith("      + steps"));
const after = plain.indexOf("    }", steps);
const total = plain.findIndex((line) => line.startsWith("Plan:"));
check(first >= 0 && steps > first && after > steps && total > after, "the plan has no steps");
const shown = [...plan.slice(first, first + 2), "      ...", ...plan.slice(steps, after + 1), "", plan[total]];
const wrapped = shown.reduce((n, line) => n + Math.max(1, Math.ceil(line.replace(/\x1b\[[0-9;]*m/g, "").length / 120)), 0);
await terminal("plan", wrapped, shown.join("\r\n"));

// The screen of watch as it was when the run ended, before watch left it.
const screen = recorded("watch").match(/\x1b\[\?1049h([^]*)\x1b\[\?1049l/);
check(screen, "watch had no screen");
await terminal("watch", 14, screen[1]);

const page = await open(browser, settings);
await page.goto(address);
await page.locator("a[href^='/runs/']").first().click();
await page.locator("#grid").waitFor();
const grid = await page.locator("#grid").boundingBox();
await page.setViewportSize({ width: 1280, height: Math.ceil(grid.y + grid.height) + 16 });
await page.screenshot({ path: join(folder, "page.png") });
check(page.complaints.length === 0, page.complaints.join("; "));
await browser.close();
