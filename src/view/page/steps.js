// SPDX-License-Identifier: Apache-2.0
// The steps one after the other: each is a column of its phases, outliers are marked, a drag selects
// some of them.
(function (page) {
    'use strict';
    const {el} = page;
    const KINDS = ['steady-state', 'warm-up', 'outlier', 'not seen whole', 'outside the windows'];
    const ALL = -1, LEFT = 58, TOP = 18, BOTTOM = 22, HEIGHT = 220;

    function read(points) {
        const steps = [], width = 5 + points.phases.length;
        for (let at = 0; at < points.rows.length; at += width) {
            const [process, number, kind, begin, duration] = points.rows.slice(at, at + 5);
            steps.push({process, number, kind, begin, duration, phases: points.rows.slice(at + 5, at + width)});
        }
        return steps;
    }

    page.processName = (points, process) => points.ranks[process] >= 0
        ? `rank ${points.ranks[process]}` : `process ${points.pids[process]}`;

    const colourOf = (phase, count) => page.colour(phase === count - 1 ? '--rest' : `--role${phase % 6}`);

    // ---- drawing ----

    function drawScale(context, state, width, height) {
        const tick = page.tickOf(state.top, 'ns', 4);
        context.textAlign = 'right';
        for (let value = 0; value <= state.top; value += tick) {
            const y = height - BOTTOM - (height - TOP - BOTTOM) * value / state.top;
            context.fillStyle = page.colour('--line');
            context.fillRect(LEFT, Math.round(y), width - LEFT, 1);
            context.fillStyle = page.colour('--soft');
            context.fillText(value ? page.duration(value) : '0', LEFT - 6, y);
        }
    }

    function drawNumbers(context, state, width, height) {
        const {shown} = state, each = Math.max(1, Math.ceil(shown.length * 60 / (width - LEFT)));
        context.fillStyle = page.colour('--soft');
        context.textAlign = 'center';
        for (let i = 0; i < shown.length; i += each) {
            context.fillText(String(shown[i].number), LEFT + (i + 0.5) * state.column, height - 9);
        }
    }

    function drawStep(context, state, step, x, height) {
        const scale = (height - TOP - BOTTOM) / state.top, gap = state.column > 4 ? 1 : 0;
        const width = Math.max(state.column - gap, 0.8);
        let y = height - BOTTOM;
        step.phases.forEach((ns, phase) => {
            const part = Math.min(ns * scale, y - TOP);
            context.fillStyle = state.colours[phase];
            context.fillRect(x, y - part, width, part);
            y -= part;
        });
        if (step.kind !== 0 || step.duration > state.top) {
            drawMark(context, step, x + width / 2, step.duration > state.top ? TOP : y);
        }
    }

    function drawMark(context, step, x, y) {
        context.fillStyle = page.colour(step.kind === 2 ? '--hit' : '--soft');
        context.beginPath();
        context.moveTo(x - 4, y - 4);
        context.lineTo(x + 4, y - 4);
        context.lineTo(x, y - 10);
        context.fill();
    }

    function draw(state, context, width, height) {
        const {shown} = state;
        state.column = (width - LEFT) / Math.max(shown.length, 1);
        state.colours = state.points.phases.map((_, i) => colourOf(i, state.points.phases.length));
        drawScale(context, state, width, height);
        shown.forEach((step, i) => drawStep(context, state, step, LEFT + i * state.column, height));
        drawNumbers(context, state, width, height);
        if (state.cursor >= 0 && state.cursor < shown.length) {
            context.strokeStyle = page.colour('--focus');
            context.lineWidth = 2;
            context.strokeRect(LEFT + state.cursor * state.column, TOP - 12, Math.max(state.column, 3),
                height - TOP - BOTTOM + 12);
        }
        if (state.brush) {
            context.fillStyle = page.colour('--focus');
            context.globalAlpha = 0.2;
            context.fillRect(state.brush[0], TOP, state.brush[1] - state.brush[0], height - TOP - BOTTOM);
            context.globalAlpha = 1;
        }
    }

    // ---- what is shown ----

    const stepAt = (state, x) => Math.floor((x - LEFT) / state.column);

    function tipOf(state, index) {
        const step = state.shown[index];
        if (!step) {
            return null;
        }
        return page.tipRows(`Step ${step.number}: ${page.duration(step.duration)}`, [
            ['', KINDS[step.kind]], ...(state.processes.length > 1 ? [['of', page.processName(state.points, step.process)]] : []),
            ...step.phases.map((ns, i) => [state.points.phases[i], page.duration(ns)]).filter((_, i) => step.phases[i] > 0)]);
    }

    function median(values) {
        const sorted = [...values].sort((a, b) => a - b), half = sorted.length >> 1;
        return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    }

    // What the selected steps have in common, in words.
    function describe(state) {
        const {shown} = state, all = shown.reduce((sum, step) => sum + step.duration, 0);
        if (shown.length === 0 || shown.length === state.ofProcess.length) {
            return '';
        }
        const shares = state.points.phases.map((name, i) =>
            [name, shown.reduce((sum, step) => sum + step.phases[i], 0)]).filter(([, ns]) => ns >= all / 1000);
        return `Steps ${shown[0].number} to ${shown[shown.length - 1].number}: ${shown.length} shown, median ` +
            `${page.duration(median(shown.map((step) => step.duration)))}; ` +
            shares.map(([name, ns]) => `${name} ${page.percent(ns, all)}`).join(', ');
    }

    function update(state) {
        const longest = state.shown.reduce((most, step) => Math.max(most, step.duration), 1);
        state.top = state.isWhole ? longest : Math.min(longest, state.limit);
        state.scale.hidden = state.isWhole ? false : longest <= state.limit;
        state.scale.textContent = state.isWhole ? 'Cut high steps' : 'Full height';
        state.reset.hidden = state.shown.length === state.ofProcess.length;
        state.words.textContent = describe(state);
        state.picture.draw();
    }

    function select(state, first, last) {
        state.shown = state.shown.slice(Math.max(first, 0), last + 1);
        state.cursor = -1;
        update(state);
    }

    // Of all processes: side by side, step by step.
    function showAll(state) {
        state.ofProcess = state.process === ALL
            ? [...state.steps].sort((a, b) => a.number - b.number || a.process - b.process)
            : state.steps.filter((step) => step.process === state.process);
        state.shown = state.ofProcess;
        state.cursor = -1;
        update(state);
    }

    function key(state, event) {
        const moves = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity};
        if (event.key in moves) {
            state.cursor = Math.min(Math.max(state.cursor + moves[event.key], 0), state.shown.length - 1);
            state.picture.draw();
            state.picture.showTip(tipOf(state, state.cursor), LEFT + state.cursor * state.column, TOP);
            return true;
        }
        if (event.key === 'Escape') {
            showAll(state);
            return true;
        }
        return false;
    }

    // ---- the whole ----

    function processChoice(state) {
        const choice = el('select', {onchange: () => {
            state.process = Number(choice.value);
            showAll(state);
        }});
        choice.append(el('option', {value: ALL}, 'all processes, side by side'));
        for (const process of state.processes) {
            choice.append(el('option', {value: process}, page.processName(state.points, process)));
        }
        return el('label', {}, 'Steps of ', choice);
    }

    function makePicture(state) {
        return page.picture({
            label: `Durations of ${state.steps.length} steps by phase; the table Steps has the figures. ` +
                'Arrow keys move from step to step.',
            height: () => HEIGHT,
            draw: (context, width, height) => draw(state, context, width, height),
            tip: (x) => tipOf(state, stepAt(state, x)),
            dragging: (from, to) => {
                state.brush = [from, to];
                state.picture.draw();
            },
            drag: (from, to) => {
                state.brush = null;
                select(state, stepAt(state, from), stepAt(state, to));
            },
            twice: () => showAll(state),
            key: (event) => key(state, event)
        });
    }

    function legend(state) {
        const entries = state.points.phases.map((name, i) => el('li', {},
            el('i', {class: `key role${i === state.points.phases.length - 1 ? -1 : i % 6}`}), el('bdi', {}, name)));
        return el('ul', {class: 'legend'}, ...entries,
            el('li', {class: 'soft'}, '▲ warm-up, outlier, cut, or higher than the scale'));
    }

    page.renderers.series = function (block) {
        if (!block.points) {
            return null;
        }
        const steps = read(block.points), processes = [...new Set(steps.map((step) => step.process))];
        const state = {points: block.points, steps, processes, process: processes.length > 1 ? ALL : processes[0],
            shown: steps, cursor: -1, limit: block.top, isWhole: false, brush: null,
            words: el('p', {class: 'note fact', 'aria-live': 'polite'})};
        state.scale = page.button('', () => {
            state.isWhole = !state.isWhole;
            update(state);
        });
        state.reset = page.button('All steps', () => showAll(state));
        state.picture = makePicture(state);
        showAll(state);
        return el('div', {class: 'steps'},
            el('div', {class: 'tools'}, processes.length > 1 ? processChoice(state) : null,
                el('span', {class: 'count'}, 'Drag to select steps'), el('span', {class: 'far'}, ' '), state.reset, state.scale),
            state.picture.frame, legend(state), state.words, processes.length > 1 && !page.hasHeat ? page.heat(state) : null,
            block.points.each > 1 ? el('p', {class: 'note aside'},
                `Each column is the longest of ${block.points.each} steps.`) : null);
    };
})(window.stepscope);
