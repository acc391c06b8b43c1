// SPDX-License-Identifier: Apache-2.0
// All that ran in a few steps: a lane for each track, ranges within ranges.
(function (page) {
    'use strict';
    const {el} = page;
    const ROW = 17, HEAD = 18, LEFT = 2, SCALE = 22, TABLE_ROWS = 40;

    function readLane(lane, names) {
        const spans = [];
        let depth = 0;
        for (let at = 0; at < lane.spans.length; at += 4) {
            const [name, level, begin, duration] = lane.spans.slice(at, at + 4);
            spans.push({name: names[name], depth: level, begin, duration});
            depth = Math.max(depth, level);
        }
        const owner = lane.owner && lane.owner !== lane.name ? `${lane.owner} · ` : '';
        return {title: owner + lane.name, hidden: lane.hidden, device: lane.device, spans, rows: depth + 1};
    }

    function readStep(step, names) {
        const lanes = step.lanes.map((lane) => readLane(lane, names));
        let y = SCALE;
        for (const lane of lanes) {
            lane.y = y + HEAD;
            y += HEAD + lane.rows * ROW + 4;
        }
        return {...step, lanes, height: y};
    }

    // ---- drawing ----

    // A phase has its colour of the bar.
    function phaseColour(lane, span) {
        const role = lane.title === 'phase' ? page.roles.get(span.name) : undefined;
        return role === undefined ? null : page.colour(role < 0 ? '--rest' : `--role${role}`);
    }

    function fillOf(text) {
        const hue = page.hash(text) % 360;
        return page.isDark() ? `hsl(${hue} 45% 32%)` : `hsl(${hue} 62% 80%)`;
    }

    function drawScale(context, state, width, height) {
        const tick = page.tickOf(state.to - state.from, 'ns', width / 110);
        context.textAlign = 'left';
        for (let time = Math.ceil(state.from / tick) * tick; time <= state.to; time += tick) {
            const x = Math.round(state.x(time));
            context.fillStyle = page.colour('--line');
            context.fillRect(x, 0, 1, height);
            context.fillStyle = page.colour('--soft');
            context.fillText(time ? page.duration(time) : '0', x + 4, 10);
        }
    }

    function drawSpan(context, state, lane, span, width) {
        const left = Math.max(state.x(span.begin), LEFT), right = Math.min(state.x(span.begin + span.duration), width);
        if (right < LEFT || left > width || right <= left && span.duration > 0) {
            return;
        }
        const y = lane.y + span.depth * ROW;
        const phase = phaseColour(lane, span);
        context.fillStyle = phase || fillOf(span.name);
        context.fillRect(left, y, Math.max(right - left - 0.5, 0.7), ROW - 1);
        const text = page.fit(context, span.name, right - left - 8);
        if (text) {
            context.fillStyle = phase ? '#fff' : page.colour('--ink');
            context.fillText(text, left + 4, y + ROW / 2);
        }
    }

    function drawLane(context, state, lane, width) {
        context.fillStyle = page.colour('--soft');
        context.textAlign = 'left';
        const hidden = lane.hidden ? `, ${page.count(lane.hidden)} shorter ones not shown` : '';
        context.fillText(lane.title + hidden, LEFT, lane.y - HEAD / 2 + 1);
        for (const span of lane.spans) {
            drawSpan(context, state, lane, span, width);
        }
    }

    function draw(state, context, width, height) {
        state.x = (time) => LEFT + (width - LEFT) * (time - state.from) / (state.to - state.from);
        drawScale(context, state, width, height);
        for (const lane of state.step.lanes) {
            drawLane(context, state, lane, width);
        }
        if (state.brush) {
            context.fillStyle = page.colour('--focus');
            context.globalAlpha = 0.2;
            context.fillRect(state.brush[0], 0, state.brush[1] - state.brush[0], height);
            context.globalAlpha = 1;
        }
    }

    // ---- moves ----

    const timeAt = (state, x) => state.from + (x - LEFT) / (state.picture.width - LEFT) * (state.to - state.from);

    function show(state, from, to) {
        const least = Math.min(1000, state.step.duration);
        state.from = Math.max(0, Math.min(from, state.step.duration - least));
        state.to = Math.min(state.step.duration, Math.max(to, state.from + least));
        state.reset.hidden = state.from === 0 && state.to === state.step.duration;
        state.picture.draw();
    }

    function key(state, event) {
        const span = state.to - state.from, middle = (state.from + state.to) / 2;
        const moves = {
            ArrowLeft: [state.from - span / 4, state.to - span / 4], ArrowRight: [state.from + span / 4, state.to + span / 4],
            '+': [middle - span / 4, middle + span / 4], '=': [middle - span / 4, middle + span / 4],
            '-': [middle - span, middle + span], Escape: [0, state.step.duration]
        };
        if (!(event.key in moves)) {
            return false;
        }
        show(state, ...moves[event.key]);
        return true;
    }

    function spanAt(state, x, y) {
        const time = timeAt(state, x), pixel = (state.to - state.from) / state.picture.width;
        for (const lane of state.step.lanes) {
            const depth = Math.floor((y - lane.y) / ROW);
            const found = depth >= 0 && depth < lane.rows && lane.spans.find((span) => span.depth === depth &&
                time >= span.begin - pixel && time <= span.begin + span.duration + pixel);
            if (found) {
                return {lane, span: found};
            }
        }
        return null;
    }

    function tipAt(state, x, y) {
        const found = spanAt(state, x, y);
        return found && page.tipRows(found.span.name, [['', found.lane.title], ['begins at', page.duration(found.span.begin)],
            ['takes', page.duration(found.span.duration)],
            ['of the step', page.percent(found.span.duration, state.step.duration)]]);
    }

    // ---- the table behind the picture ----

    function longest(step) {
        return step.lanes.flatMap((lane) => lane.spans.map((span) => ({lane, span})))
            .sort((a, b) => b.span.duration - a.span.duration).slice(0, TABLE_ROWS);
    }

    function fillTable(state) {
        state.table.replaceChildren(...longest(state.step).map(({lane, span}) => el('tr', {},
            el('td', {class: 'left'}, el('bdi', {}, span.name)), el('td', {class: 'left'}, el('bdi', {}, lane.title)),
            el('td', {class: 'right'}, page.duration(span.begin)), el('td', {class: 'right'}, page.duration(span.duration)))));
    }

    function tableOf(state) {
        const head = ['range', 'track', 'begins at', 'takes'].map((title, i) =>
            el('th', {scope: 'col', class: i < 2 ? 'left' : 'right'}, title));
        return el('details', {}, el('summary', {}, 'The longest ranges of this step as a table'),
            el('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Longest ranges'},
                el('table', {}, el('thead', {}, el('tr', {}, ...head)), state.table)));
    }

    // ---- the whole ----

    function choose(state, index) {
        state.step = state.steps[index];
        state.buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(i === index)));
        fillTable(state);
        show(state, 0, state.step.duration);
    }

    function makePicture(state) {
        return page.picture({
            label: 'What ran in the chosen step over time; the table below has the longest ranges. ' +
                'Plus and minus zoom, arrow keys move.',
            height: () => state.step.height,
            draw: (context, width, height) => draw(state, context, width, height),
            tip: (x, y) => tipAt(state, x, y),
            dragging: (from, to) => {
                state.brush = [from, to];
                state.picture.draw();
            },
            drag: (from, to) => {
                state.brush = null;
                show(state, timeAt(state, from), timeAt(state, to));
            },
            twice: () => show(state, 0, state.step.duration),
            key: (event) => key(state, event)
        });
    }

    function ownerOf(block, step) {
        return block.processes < 2 ? '' : step.rank === null ? ` of process ${step.pid}` : ` of rank ${step.rank}`;
    }

    page.titles.timeline = 'What ran in a step';

    page.renderers.timeline = function (block) {
        const state = {steps: block.steps.map((step) => readStep(step, block.names)), brush: null, table: el('tbody')};
        state.step = state.steps[0];
        state.buttons = state.steps.map((step, i) => page.button(`${step.which}: step ${step.number}` +
            `${ownerOf(block, step)}, ${page.duration(step.duration)}`, () => choose(state, i)));
        state.reset = page.button('Whole step', () => show(state, 0, state.step.duration));
        state.picture = makePicture(state);
        choose(state, 0);
        return el('div', {class: 'timeline'}, el('div', {class: 'tools'}, ...state.buttons,
            el('span', {class: 'count'}, 'Drag to zoom, + and − with the keyboard'), state.reset),
        state.picture.frame, tableOf(state));
    };
})(window.stepscope);
