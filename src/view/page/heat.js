// SPDX-License-Identifier: Apache-2.0
// Ranks by steps: who is slow, and when. The stronger a cell, the slower.
(function (page) {
    'use strict';
    const {el} = page;
    const ROW = 18, LEFT = 96, TOP = 4, BOTTOM = 20, MOST_ROWS = 64;

    // ---- the picture: heat has names of rows, labels of columns, cell(row, column) ----

    function drawCell(context, heat, row, column) {
        const cell = heat.cell(row, column);
        if (!cell) {
            return;
        }
        const width = Math.max(heat.column - (heat.column > 4 ? 1 : 0), 0.8);
        context.globalAlpha = 0.1 + 0.9 * Math.min(Math.max(cell.share, 0), 1);
        context.fillStyle = page.colour('--role0');
        context.fillRect(LEFT + column * heat.column, TOP + row * ROW, width, ROW - 1);
        context.globalAlpha = 1;
    }

    function draw(heat, context, width) {
        heat.column = (width - LEFT) / heat.labels.length;
        heat.names.forEach((name, row) => {
            heat.labels.forEach((_, column) => drawCell(context, heat, row, column));
            context.fillStyle = page.colour('--soft');
            context.textAlign = 'right';
            context.fillText(name, LEFT - 8, TOP + (row + 0.5) * ROW);
        });
        context.textAlign = 'center';
        const each = Math.max(1, Math.ceil(heat.labels.length * 60 / (width - LEFT)));
        for (let i = 0; i < heat.labels.length; i += each) {
            context.fillText(heat.labels[i], LEFT + (i + 0.5) * heat.column, TOP + heat.names.length * ROW + 10);
        }
    }

    function tipAt(heat, x, y) {
        const cell = heat.cell(Math.floor((y - TOP) / ROW), Math.floor((x - LEFT) / heat.column));
        return cell ? page.tipRows(cell.title, cell.rows) : null;
    }

    function figure(heat, caption, note) {
        const picture = page.picture({
            label: `${caption}; the tables of steps and ranks have the figures`,
            height: () => TOP + heat.names.length * ROW + BOTTOM,
            draw: (context, width) => draw(heat, context, width),
            tip: (x, y) => tipAt(heat, x, y)
        });
        return el('figure', {class: 'heat'}, el('figcaption', {}, caption), picture.frame,
            note ? el('p', {class: 'note aside'}, note) : null);
    }

    // ---- the time of ranks, as the report has it ----

    page.renderers.heat = function (block) {
        const names = block.rows.map((rank) => rank < 0 ? '?' : `rank ${rank}`), {columns, low, high} = block;
        const labels = Array.from({length: columns}, (_, i) => String(i * block.each));
        return figure({
            names, labels,
            cell(row, column) {
                const value = row >= 0 && row < names.length && column >= 0 && column < columns
                    ? block.values[row * columns + column] : -1;
                return value < 0 ? null : {share: high > low ? (value - low) / (high - low) : 0,
                    title: names[row], rows: [[`steady-state step ${labels[column]}`, page.duration(value)]]};
            }
        }, block.label, `${page.duration(low)} (faint) to ${page.duration(high)} (strong)` +
            (block.each > 1 ? `; each column is the slowest of ${block.each} steps` : ''));
    };

    // ---- steps of processes, where the report has no times of ranks ----

    function byRank(points, processes) {
        return [...processes].sort((a, b) => points.ranks[a] - points.ranks[b] || points.pids[a] - points.pids[b]);
    }

    function shortest(steps) {
        const least = new Map();
        for (const step of steps) {
            least.set(step.number, Math.min(step.duration, least.get(step.number) || Infinity));
        }
        return least;
    }

    page.heat = function (state) {
        const numbers = [...new Set(state.steps.map((step) => step.number))].sort((a, b) => a - b);
        const rows = byRank(state.points, state.processes), shown = rows.slice(0, MOST_ROWS);
        const least = shortest(state.steps);
        const steps = new Map(state.steps.map((step) => [`${step.process},${step.number}`, step]));
        return figure({
            names: shown.map((process) => page.processName(state.points, process)), labels: numbers.map(String),
            cell(row, column) {
                const step = steps.get(`${shown[row]},${numbers[column]}`);
                const more = step ? step.duration / least.get(step.number) - 1 : 0;
                return step ? {share: more / 0.5,
                    title: `Step ${step.number} of ${page.processName(state.points, step.process)}`,
                    rows: [['takes', page.duration(step.duration)],
                        ['longer than the shortest', `${(100 * more).toFixed(1)} %`]]} : null;
            }
        }, 'By process: how much longer each step is than the shortest of its number',
        rows.length > shown.length ? `${rows.length - shown.length} more processes` : '');
    };
})(window.stepscope);
