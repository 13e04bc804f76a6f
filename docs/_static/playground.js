// The playground: evaluates models of psvm (playground-models.js, made at build) and draws them.
// A model is f(x) = intercept + sum of coefficient * exp(-gamma |x - row|^2) over its support vectors.
"use strict";

(function () {
  const data = window.psvmModels;
  const part = (name) => document.getElementById(`playground-${name}`);
  const sliders = { p: data.ps, C: data.Cs, gamma: data.gammas };
  const extent = 1.6; // the picture shows [-extent, extent] in both directions
  const cells = 120; // of the grid on which f is evaluated

  function chosen() {
    const at = (name) => Number(part(name).value);
    const set = data.sets[at("set")];
    return {
      set,
      p: data.ps[at("p")],
      C: data.Cs[at("C")],
      gamma: data.gammas[at("gamma")],
      model: set.models[at("p")][at("C")][at("gamma")],
    };
  }

  function decision(choice, x, y) {
    const { set, model, gamma } = choice;
    let sum = model.intercept;
    for (let k = 0; k < model.rows.length; k++) {
      const [u, v] = set.points[model.rows[k]];
      sum += model.coefficients[k] * Math.exp(-gamma * ((x - u) ** 2 + (y - v) ** 2));
    }
    return sum;
  }

  // --- drawing -----------------------------------------------------------------------------------

  function colours() {
    const paper = window.matchMedia("print").matches;
    const dark = document.documentElement.dataset.theme === "dark" && !paper;
    return dark
      ? { ink: "#f3f4f5", faint: "#7d8590", ground: "#14181e", classes: ["#ff9f4a", "#6cb8ff"], wash: [[92, 52, 16], [20, 58, 98]] }
      : { ink: "#14181e", faint: "#8a929c", ground: "#ffffff", classes: ["#c04d00", "#0060a8"], wash: [[250, 205, 165], [170, 212, 245]] };
  }

  // A canvas as large as its place on the page, in its own pixels; draws in units of the page.
  function prepared(canvas, ratio) {
    const width = canvas.clientWidth, height = width * ratio, scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    return { pen, width, height };
  }

  function values(choice) {
    const grid = [];
    for (let i = 0; i <= cells; i++) {
      const y = extent - (2 * extent * i) / cells, row = new Float64Array(cells + 1);
      for (let j = 0; j <= cells; j++) row[j] = decision(choice, -extent + (2 * extent * j) / cells, y);
      grid.push(row);
    }
    return grid;
  }

  // Where f crosses a level: marching squares, one stroke per cell.
  function contour(pen, grid, level, size) {
    const step = size / cells;
    pen.beginPath();
    for (let i = 0; i < cells; i++) {
      for (let j = 0; j < cells; j++) {
        const corners = [grid[i][j], grid[i][j + 1], grid[i + 1][j + 1], grid[i + 1][j]].map((f) => f - level);
        const places = [[j, i], [j + 1, i], [j + 1, i + 1], [j, i + 1]], ends = [];
        for (let k = 0; k < 4; k++) {
          const a = corners[k], b = corners[(k + 1) % 4];
          if (a > 0 === b > 0) continue;
          const t = a / (a - b), [x, y] = places[k], [u, v] = places[(k + 1) % 4];
          ends.push([(x + t * (u - x)) * step, (y + t * (v - y)) * step]);
        }
        for (let k = 0; k + 1 < ends.length; k += 2) {
          pen.moveTo(...ends[k]);
          pen.lineTo(...ends[k + 1]);
        }
      }
    }
    pen.stroke();
  }

  // One pixel per node of the grid, enlarged smoothly.
  function drawWash(pen, grid, tone, size) {
    const small = document.createElement("canvas"), nodes = cells + 1;
    small.width = small.height = nodes;
    const paint = small.getContext("2d"), image = paint.createImageData(nodes, nodes);
    grid.forEach((row, i) => row.forEach((f, j) => {
      const strength = Math.min(Math.abs(f), 1.5) / 1.5;
      image.data.set([...tone.wash[f > 0 ? 1 : 0], 255 * strength], 4 * (i * nodes + j));
    }));
    paint.putImageData(image, 0, 0);
    const half = size / cells / 2;
    pen.clearRect(0, 0, size, size);
    pen.drawImage(small, -half, -half, size + 2 * half, size + 2 * half);
  }

  function drawBoundary(choice, tone) {
    const { pen, width: size } = prepared(part("boundary"), 1);
    const grid = values(choice);
    drawWash(pen, grid, tone, size);
    pen.strokeStyle = tone.ink;
    pen.lineWidth = 2.5;
    contour(pen, grid, 0, size);
    pen.lineWidth = 1;
    contour(pen, grid, 1, size);
    contour(pen, grid, -1, size);
    drawPoints(pen, choice, tone, size);
  }

  function drawPoints(pen, choice, tone, size) {
    const place = ([x, y]) => [((x + extent) / (2 * extent)) * size, ((extent - y) / (2 * extent)) * size];
    const support = new Set(choice.model.rows), r = Math.max(3, size / 120);
    choice.set.points.forEach((point, row) => {
      const [x, y] = place(point), label = choice.set.labels[row];
      pen.fillStyle = tone.classes[label];
      pen.strokeStyle = tone.ground;
      pen.lineWidth = 1;
      pen.beginPath();
      if (label) pen.arc(x, y, r, 0, 2 * Math.PI);
      else [[0, -1.3], [1.15, 0.9], [-1.15, 0.9]].forEach(([u, v]) => pen.lineTo(x + u * r, y + v * r));
      pen.closePath();
      pen.fill();
      pen.stroke();
      if (!support.has(row)) return;
      pen.strokeStyle = tone.ink;
      pen.lineWidth = 1.2;
      pen.beginPath();
      pen.arc(x, y, 2 * r, 0, 2 * Math.PI);
      pen.stroke();
    });
  }

  function drawLoss(choice, tone) {
    const { pen, width, height } = prepared(part("loss"), 0.55);
    const left = 30, bottom = height - 34, top = 22, from = -1.5, to = 1.5, most = 4;
    const x = (margin) => left + ((margin - from) / (to - from)) * (width - left - 10);
    const y = (loss) => bottom - (loss / most) * (bottom - top);
    pen.clearRect(0, 0, width, height);
    pen.font = "13px system-ui, sans-serif";
    pen.fillStyle = tone.ink;
    pen.strokeStyle = tone.faint;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(left, top);
    pen.lineTo(left, bottom);
    pen.lineTo(width - 10, bottom);
    pen.stroke();
    pen.textAlign = "center";
    [-1, 0, 1].forEach((margin) => pen.fillText(String(margin), x(margin), bottom + 15));
    pen.fillText("margin y f(x)", (left + width) / 2, bottom + 30);
    pen.textAlign = "right";
    [0, 2, 4].forEach((loss) => pen.fillText(String(loss), left - 6, y(loss) + 4));
    pen.textAlign = "left";
    pen.fillText(`loss, p = ${choice.p}`, left + 8, top - 6);
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width - left - 10, bottom - top + 2);
    pen.clip();
    const curve = (p, colour, thick) => {
      pen.beginPath();
      for (let k = 0; k <= 240; k++) {
        const margin = from + ((to - from) * k) / 240;
        pen.lineTo(x(margin), y(Math.max(0, 1 - margin) ** p));
      }
      pen.strokeStyle = colour;
      pen.lineWidth = thick;
      pen.stroke();
    };
    data.ps.forEach((p) => curve(p, tone.faint, 0.6));
    curve(choice.p, tone.classes[1], 3);
    pen.restore();
  }

  // --- the page ----------------------------------------------------------------------------------

  function draw() {
    const choice = chosen(), { set, model } = choice, tone = colours();
    for (const name of Object.keys(sliders)) {
      const value = String(choice[name]);
      part(`${name}-value`).textContent = value;
      part(name).setAttribute("aria-valuetext", value);
    }
    drawBoundary(choice, tone);
    drawLoss(choice, tone);
    const wrong = set.points.filter(([x, y], row) => (decision(choice, x, y) > 0 ? 1 : 0) !== set.labels[row]).length;
    const rows = set.points.length;
    part("summary").textContent =
      `p = ${choice.p}, C = ${choice.C}, gamma = ${choice.gamma}: ${model.rows.length} of ${rows} rows are support vectors, ${wrong} of ${rows} are on the wrong side. ` +
      `Relative duality gap, certified: ${model.gap.toExponential(1)}.`;
  }

  data.sets.forEach((set, k) => part("set").add(new Option(set.name, k)));
  const start = { p: 1.5, C: 1, gamma: 3 };
  for (const [name, list] of Object.entries(sliders)) {
    part(name).max = list.length - 1;
    part(name).value = list.indexOf(start[name]);
    part(name).addEventListener("input", draw);
  }
  part("set").addEventListener("change", draw);
  document.querySelector(".playground-controls").addEventListener("submit", (event) => event.preventDefault());
  new ResizeObserver(draw).observe(document.getElementById("playground"));
  window.matchMedia("print").addEventListener("change", draw);
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  window.psvmPlayground = { chosen, decision };
  draw();
})();
