// SPDX-License-Identifier: Apache-2.0
// Processes by steps: which ranks take longer, and when. A cell is as strong as its step is longer than
// the shortest of the same number.
(function (page) {
    'use strict';
    const {el} = page;
    const ROW = 18, LEFT = 96, TOP = 4, BOTTOM = 20, MOST_ROWS = 64;

    function shortest(steps) {
        const least = new Map();
        for (const step of steps) {
            least.set(step.number, Math.min(step.duration, least.get(step.number) || Infinity));
        }
        return least;
    }

    function byRank(points, processes) {
        return [...processes].sort((a, b) => points.ranks[a] - points.ranks[b] || points.pids[a] - points.pids[b]);
    }

    function read(state) {
        const numbers = [...new Set(state.steps.map((step) => step.number))].sort((a, b) => a - b);
        const rows = byRank(state.points, state.processes), shown = rows.slice(0, MOST_ROWS);
        const column = new Map(numbers.map((number, i) => [number, i]));
        const row = new Map(shown.map((process, i) => [process, i]));
        const least = shortest(state.steps), cells = new Map();
        for (const step of state.steps) {
            if (row.has(step.process)) {
                const late = step.duration / least.get(step.number) - 1;
                cells.set(`${row.get(step.process)},${column.get(step.number)}`, {step, late});
            }
        }
        return {points: state.points, numbers, rows: shown, hidden: rows.length - shown.length, cells};
    }

    function drawCell(context, heat, cell, row, column) {
        const width = Math.max(heat.column - (heat.column > 4 ? 1 : 0), 0.8);
        context.globalAlpha = 0.12 + 0.88 * Math.min(cell.late / 0.5, 1);
        context.fillStyle = page.colour('--role0');
        context.fillRect(LEFT + column * heat.column, TOP + row * ROW, width, ROW - 1);
        context.globalAlpha = 1;
    }

    function draw(heat, context, width, height) {
        heat.column = (width - LEFT) / heat.numbers.length;
        for (const [key, cell] of heat.cells) {
            drawCell(context, heat, cell, ...key.split(',').map(Number));
        }
        context.fillStyle = page.colour('--soft');
        context.textAlign = 'right';
        heat.rows.forEach((process, i) => context.fillText(page.processName(heat.points, process), LEFT - 8,
            TOP + (i + 0.5) * ROW));
        context.textAlign = 'center';
        const each = Math.max(1, Math.ceil(heat.numbers.length * 60 / (width - LEFT)));
        for (let i = 0; i < heat.numbers.length; i += each) {
            context.fillText(String(heat.numbers[i]), LEFT + (i + 0.5) * heat.column, height - 9);
        }
    }

    function tipAt(heat, x, y) {
        const cell = heat.cells.get(`${Math.floor((y - TOP) / ROW)},${Math.floor((x - LEFT) / heat.column)}`);
        return cell ? page.tipRows(`Step ${cell.step.number} of ${page.processName(heat.points, cell.step.process)}`, [
            ['takes', page.duration(cell.step.duration)],
            ['longer than the shortest', `${(100 * cell.late).toFixed(1)} %`]]) : null;
    }

    page.heat = function (state) {
        const heat = read(state);
        const picture = page.picture({
            label: 'Steps by process: how much longer each is than the shortest of its number; ' +
                'the table Steps has the figures',
            height: () => TOP + heat.rows.length * ROW + BOTTOM,
            draw: (context, width, height) => draw(heat, context, width, height),
            tip: (x, y) => tipAt(heat, x, y)
        });
        return el('figure', {class: 'heat'}, el('figcaption', {}, 'By rank: how much longer each step is than the shortest of its number'),
            picture.frame, heat.hidden ? el('p', {class: 'note aside'}, `${heat.hidden} more processes`) : null);
    };
})(window.stepscope);
