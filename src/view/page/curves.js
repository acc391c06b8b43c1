// SPDX-License-Identifier: Apache-2.0
// Counters over time: a small picture for those that measure one thing in one unit.
(function (page) {
    'use strict';
    const {el} = page;
    const HEIGHT = 150, LEFT = 86, TOP = 8, BOTTOM = 20;

    const colourOf = (i) => page.colour(i < 6 ? `--role${i}` : '--rest');

    function read(curve) {
        const points = [];
        for (let at = 0; at < curve.points.length; at += 3) {
            points.push(curve.points.slice(at, at + 3));
        }
        return {name: curve.name, points};
    }

    function rangeOf(curves) {
        let low = Infinity, high = -Infinity;
        for (const {points} of curves) {
            for (const [, least, most] of points) {
                low = Math.min(low, least);
                high = Math.max(high, most);
            }
        }
        return [low > 0 && low < high * 0.6 ? 0 : Math.min(low, high), high > low ? high : low + 1];
    }

    // ---- drawing ----

    function drawScale(context, state, width, height) {
        const [low, high] = state.range, tick = page.tickOf(high - low, state.unit, 3);
        context.textAlign = 'right';
        for (let value = Math.ceil(low / tick) * tick; value <= high; value += tick) {
            const y = state.y(value);
            context.fillStyle = page.colour('--line');
            context.fillRect(LEFT, Math.round(y), width - LEFT, 1);
            context.fillStyle = page.colour('--soft');
            context.fillText(page.withUnit(value, state.unit), LEFT - 6, y);
        }
        const seconds = page.tickOf(state.end, 'ns', Math.max(2, (width - LEFT) / 90));
        context.textAlign = 'center';
        for (let time = 0; time <= state.end; time += seconds) {
            context.fillText(page.duration(time).replace(/^0 ns$/, '0'), Math.max(state.x(time), LEFT), height - 8);
        }
    }

    // From the highest to the lowest of each point, so that no peak is lost.
    function drawCurve(context, state, points, colour) {
        context.strokeStyle = colour;
        context.lineWidth = 1.5;
        context.beginPath();
        points.forEach(([time, low, high], i) => {
            const x = state.x(time);
            context[i ? 'lineTo' : 'moveTo'](x, state.y(high));
            if (high > low) {
                context.lineTo(x, state.y(low));
            }
        });
        context.stroke();
    }

    function draw(state, context, width, height) {
        const [low, high] = state.range;
        state.x = (time) => LEFT + (width - LEFT - 2) * time / (state.end || 1);
        state.y = (value) => height - BOTTOM - (height - TOP - BOTTOM) * (value - low) / (high - low);
        drawScale(context, state, width, height);
        state.curves.forEach((curve, i) => drawCurve(context, state, curve.points, colourOf(i)));
    }

    // ---- the tip ----

    function newest(points, time) {
        let found = null;
        for (const point of points) {
            if (point[0] > time && found) {
                break;
            }
            found = point;
        }
        return found;
    }

    function between(state, [, low, high]) {
        const most = page.withUnit(high, state.unit);
        return low === high ? most : `${page.withUnit(low, state.unit)} – ${most}`;
    }

    function tipAt(state, x, width) {
        const time = (x - LEFT) / (width - LEFT - 2) * state.end;
        if (time < 0 || time > state.end) {
            return null;
        }
        return page.tipRows(`at ${page.duration(time)}`, state.curves.map((curve) =>
            [curve.name, between(state, newest(curve.points, time))]));
    }

    // ---- the whole ----

    function titleOf(one) {
        const owner = one.pid >= 0 ? `process ${one.pid}` : 'host';
        return one.group ? `${one.group}, ${owner}` : owner;
    }

    function legendEntry(state, curve, i) {
        const most = curve.points.reduce((high, point) => Math.max(high, point[2]), -Infinity);
        return el('li', {}, el('i', {class: `key role${i < 6 ? i : -1}`}), el('bdi', {}, curve.name),
            el('span', {class: 'soft'}, ` ≤ ${page.withUnit(most, state.unit)}`));
    }

    function chart(one, end) {
        const curves = one.curves.map(read), title = titleOf(one);
        const state = {curves, unit: one.unit, end, range: rangeOf(curves)};
        const picture = page.picture({
            label: `${title} over time; the table Counters has the figures`,
            height: () => HEIGHT,
            draw: (context, width, height) => draw(state, context, width, height),
            tip: (x) => tipAt(state, x, picture.width)
        });
        const unit = one.unit ? el('span', {class: 'soft'}, ` in ${one.unit}`) : null;
        return el('figure', {}, el('figcaption', {}, el('bdi', {}, title), unit), picture.frame,
            el('ul', {class: 'legend small'}, ...curves.map((curve, i) => legendEntry(state, curve, i)),
                one.hidden ? el('li', {class: 'soft'}, `${one.hidden} more`) : null));
    }

    page.renderers.curves = (block) => el('div', {class: 'charts'},
        ...block.pictures.map((one) => chart(one, block.end)),
        block.hidden ? el('p', {class: 'note aside'}, `${block.hidden} more counters: see the table Counters`) : null);
})(window.stepscope);
