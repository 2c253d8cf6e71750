"use strict";
// What comes from files is only ever set as text, never as HTML.

const byId = (id) => document.getElementById(id);
const narrow = () => (window.innerWidth < 600 ? "1" : "");
const TITLES = { impute: "Filled", recover: "Recovered", forecast: "Forecast" };
let file = null; // what the server said about the file
let run = null; // the number of the run that can be stopped
let turn = 0; // grows with every request: answers to older ones are not shown

function show(element, text) {
  element.textContent = text || "";
  element.hidden = !text;
}

function list(element, texts) {
  element.replaceChildren(...texts.map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  }));
  element.hidden = !texts.length;
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("structrank app does not answer: is it still running?");
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

function post(path, form) {
  const headers = { "Content-Type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(form || {}) });
}

// The file

async function send(chosen) {
  forget();
  byId("about").hidden = byId("work").hidden = true;
  byId("reading-form").reset();
  show(byId("file-error"), "");
  byId("drop").querySelector("strong").textContent = `Reading ${chosen.name}`;
  try {
    const path = `files?name=${encodeURIComponent(chosen.name)}`;
    const headers = { "Content-Type": "application/octet-stream" };
    describe(await ask(path, { method: "POST", headers, body: chosen }));
  } catch (error) {
    show(byId("file-error"), error.message);
  }
  byId("drop").querySelector("strong").textContent = "Drop a file here, or choose one";
}

async function readAgain(event) {
  event.preventDefault();
  forget();
  const form = byId("reading-form");
  const fields = Object.fromEntries(new FormData(form));
  try {
    describe(await post(`files/${file.id}`, fields));
  } catch (error) {
    show(byId("problem"), error.message);
  }
}

function describe(answer) {
  file = answer;
  byId("about").hidden = false;
  byId("name").textContent = file.name;
  show(byId("problem"), file.error || file.problem);
  byId("reading").open = Boolean(file.error || file.problem);
  list(byId("notes"), file.notes || []);
  list(byId("cautions"), file.cautions || []);
  show(byId("facts"), file.error ? "" : facts());
  offerColumns();
  chosenChanged();
}

function facts() {
  const size = file.shape.join(" × ");
  const index = file.index;
  const name = index && index.name ? ` (${index.name})` : "";
  const rows = index ? `, from ${index.first} to ${index.last}${name}` : "";
  return `${file.format}, ${size} values${rows}`;
}

function offerColumns() {
  const columns = file.columns || [];
  const gaps = columns.findIndex((column) => column.missing > 0);
  const labels = columns.map((column, k) => {
    const about = column.missing
      ? `${column.missing} missing, longest gap ${column.longest}`
      : "nothing missing";
    return tick(k, column.name, about, !file.whole && k === Math.max(gaps, 0));
  });
  if (file.whole && columns.length) labels.unshift(tick("", "All, as an image", "", true));
  byId("column-list").replaceChildren(...labels);
  byId("columns").hidden = columns.length < 2;
}

function tick(value, name, about, checked) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  const text = document.createElement("span");
  const small = document.createElement("small");
  Object.assign(input, { type: "checkbox", value: String(value), checked });
  small.textContent = about;
  text.append(`${name} `, small);
  label.append(input, text);
  return label;
}

function ticks() {
  return [...byId("column-list").querySelectorAll("input")];
}

function chosenColumns() {
  return ticks().filter((input) => input.checked && input.value).map((input) => Number(input.value));
}

function isImage() {
  return file.whole && !chosenColumns().length;
}

function columnTicked(event) {
  const whole = ticks().find((input) => input.value === "");
  if (whole && event.target === whole) {
    ticks().forEach((input) => { input.checked = input === whole; });
  } else if (whole) {
    whole.checked = chosenColumns().length === 0;
  }
  forget();
  chosenChanged();
}

function chosenChanged() {
  const ready = !file.error && !file.problem && (file.whole || chosenColumns().length > 0);
  byId("work").hidden = !ready;
  byId("samples").hidden = !ready;
  if (!ready) return;
  const image = byId("samples").querySelector("img");
  image.className = isImage() ? "" : "lines";
  image.src = `files/${file.id}/samples?columns=${chosenColumns()}&narrow=${narrow()}&${Date.now()}`;
}

// Runs

async function start(event) {
  event.preventDefault();
  const form = byId("task").elements;
  const job = {
    file: file.id, columns: chosenColumns(), task: form.task.value,
    steps: Number(form.steps.value), robust: form.robust.checked,
  };
  byId("result").hidden = true;
  await follow(() => post("runs", job), showResult);
}

async function follow(begin, end) {
  const mine = ++turn;
  show(byId("run-error"), "");
  byId("start").disabled = true;
  byId("stop").hidden = byId("stop").disabled = false;
  try {
    let state = await begin();
    while (mine === turn && state.state === "running") {
      run = state.id;
      const said = state.stopped ? "stopping" : state.said;
      byId("progress").textContent = `${said} (${state.seconds.toFixed(0)} s)`;
      await new Promise((wake) => setTimeout(wake, state.seconds < 3 ? 150 : 500));
      if (mine === turn) state = await ask(`runs/${state.id}`);
    }
    if (mine !== turn) return;
    if (state.state === "failed") show(byId("run-error"), state.error);
    else end(state);
  } catch (error) {
    if (mine === turn) show(byId("run-error"), error.message);
  }
  if (mine === turn) idle();
}

function idle() {
  run = null;
  byId("start").disabled = false;
  byId("stop").hidden = true;
  byId("progress").textContent = "";
}

function forget() {
  turn += 1;
  if (run !== null) post(`runs/${run}/stop`).catch(() => {});
  byId("result").hidden = true;
  show(byId("run-error"), "");
  idle();
}

async function stop() {
  byId("stop").disabled = true;
  if (run !== null) await post(`runs/${run}/stop`).catch(() => {});
}

function showResult(state) {
  byId("result").hidden = false;
  byId("result-title").textContent = TITLES[state.task];
  byId("stopped").hidden = !state.stopped;
  list(byId("warnings"), state.warnings);
  byId("summary").textContent = state.summary;
  byId("command").textContent = state.command || "";
  byId("command-box").hidden = !state.command;
  byId("pictures").replaceChildren(...state.pictures.map((one) => picture(state.id, one)));
  const links = state.files.map((one) => link(state.id, one));
  if (state.report) links.push(reportButton(state.id));
  byId("files").replaceChildren(...links);
  byId("result").scrollIntoView({ block: "start" });
}

function picture(id, one) {
  const figure = document.createElement("figure");
  const image = document.createElement("img");
  const caption = document.createElement("figcaption");
  image.alt = one.alternative;
  caption.textContent = one.caption;
  if (isImage()) { // three side by side: they scroll on a phone
    const wide = document.createElement("div");
    Object.assign(wide, { className: "wide", tabIndex: 0, role: "region" });
    wide.ariaLabel = one.alternative;
    wide.append(image);
    figure.append(wide, caption);
  } else {
    image.className = "lines";
    figure.append(image, caption);
  }
  image.src = `runs/${id}/pictures/${one.name}?narrow=${isImage() ? "" : narrow()}`;
  return figure;
}

function link(id, one) {
  const a = document.createElement("a");
  a.className = "button";
  a.href = `runs/${id}/files/${one.name}`;
  a.download = one.file;
  a.textContent = one.title;
  return a;
}

function reportButton(id) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Report";
  button.addEventListener("click", () => follow(() => post(`runs/${id}/report`), (state) => {
    const a = link(state.id, state.files[0]);
    button.replaceWith(a);
    a.click();
  }));
  return button;
}

// Events

function dropped(event) {
  event.preventDefault();
  byId("drop").classList.remove("over");
  const [chosen] = event.dataTransfer.files;
  if (chosen) send(chosen);
}

function main() {
  const drop = byId("drop");
  for (const name of ["dragover", "drop"]) { // also beside the field: no page change
    window.addEventListener(name, (event) => event.preventDefault());
  }
  drop.addEventListener("dragover", () => drop.classList.add("over"));
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  window.addEventListener("drop", dropped);
  byId("file").addEventListener("change", (event) => {
    const [chosen] = event.target.files;
    if (chosen) send(chosen);
    event.target.value = "";
  });
  byId("reading-form").addEventListener("submit", readAgain);
  byId("column-list").addEventListener("change", columnTicked);
  byId("task").addEventListener("submit", start);
  byId("task").elements.steps.addEventListener("focus", () => {
    byId("task").elements.task.value = "forecast";
  });
  byId("stop").addEventListener("click", stop);
}

main();
