// SPDX-License-Identifier: Apache-2.0
// The table of the roofline as a picture: what kernels reach, under what their device can do.
(function (page) {
    'use strict';
    const {el} = page;
    const HEIGHT = 320, LEFT = 92, RIGHT = 26, TOP = 12, BOTTOM = 40;

    // ---- the rows that have a place ----

    function read(block) {
        const {keys, rows} = block.data, at = (key) => keys.indexOf(key);
        const columns = {name: at('name'), type: at('datatype'), x: at('flops_per_byte'), y: at('flops_per_s'),
            share: at('time_percent'), flops: at('peak_flops_per_s'), bytes: at('peak_bytes_per_s'),
            percent: at('roof_percent'), bound: at('bound')};
        return rows.map((row) => Object.fromEntries(Object.entries(columns).map(([name, c]) => [name, row[c]])))
            .filter((point) => point.x > 0 && point.y > 0);
    }

    // Each pair of peaks once.
    function roofsOf(points) {
        const roofs = new Map();
        for (const {flops, bytes} of points) {
            if (flops > 0 && bytes > 0) {
                roofs.set(`${flops} ${bytes}`, {flops, bytes});
            }
        }
        return [...roofs.values()];
    }

    const decades = (values) => [Math.floor(Math.log10(Math.min(...values)) - 0.2),
        Math.ceil(Math.log10(Math.max(...values)) + 0.2)];

    function axesOf(points, roofs) {
        return {
            x: decades([...points.map((point) => point.x), ...roofs.map((roof) => roof.flops / roof.bytes)]),
            y: decades([...points.map((point) => point.y), ...roofs.map((roof) => roof.flops)])
        };
    }

    // ---- drawing ----

    page.flops = function (rate, unit) {
        const units = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];
        const found = units.find(([size]) => rate >= size * 0.9995);
        const figure = Number((rate / (found ? found[0] : 1)).toPrecision(3));
        return `${figure} ${found ? found[1] : ''}${unit}`;
    };

    function place(state, width, height) {
        const {x, y} = state.axes, across = width - LEFT - RIGHT, down = height - TOP - BOTTOM;
        state.x = (value) => LEFT + across * (Math.log10(value) - x[0]) / (x[1] - x[0]);
        state.y = (value) => height - BOTTOM - down * (Math.log10(value) - y[0]) / (y[1] - y[0]);
    }

    function drawAxes(context, state, width, height) {
        context.textAlign = 'right';
        for (let power = state.axes.y[0]; power <= state.axes.y[1]; power++) {
            const y = state.y(10 ** power);
            context.fillStyle = page.colour('--line');
            context.fillRect(LEFT, Math.round(y), width - LEFT - RIGHT, 1);
            context.fillStyle = page.colour('--soft');
            context.fillText(page.flops(10 ** power, 'FLOP/s'), LEFT - 6, y);
        }
        context.textAlign = 'center';
        for (let power = state.axes.x[0]; power <= state.axes.x[1]; power++) {
            const x = state.x(10 ** power);
            context.fillStyle = page.colour('--line');
            context.fillRect(Math.round(x), TOP, 1, height - TOP - BOTTOM);
            context.fillStyle = page.colour('--soft');
            context.fillText(String(Number((10 ** power).toPrecision(3))), x, height - BOTTOM + 12);
        }
        context.fillText('FLOP for each byte', (LEFT + width) / 2, height - 8);
    }

    // Up to the ridge by memory, then flat.
    function drawRoof(context, state, roof) {
        const first = 10 ** state.axes.x[0], last = 10 ** state.axes.x[1], ridge = roof.flops / roof.bytes;
        const low = Math.max(first, 10 ** state.axes.y[0] / roof.bytes);
        context.strokeStyle = page.colour('--ink');
        context.lineWidth = 1.5;
        context.beginPath();
        context.moveTo(state.x(low), state.y(low * roof.bytes));
        context.lineTo(state.x(ridge), state.y(roof.flops));
        context.lineTo(state.x(last), state.y(roof.flops));
        context.stroke();
        context.fillStyle = page.colour('--soft');
        context.textAlign = 'right';
        context.fillText(page.flops(roof.flops, 'FLOP/s'), state.x(last) - 6, state.y(roof.flops) - 9);
    }

    const radiusOf = (point) => 4 + 1.6 * Math.sqrt(Math.max(point.share || 0, 0));
    const colourOf = (i) => page.colour(i < 6 ? `--role${i}` : '--rest');

    function drawPoint(context, state, point, i) {
        context.fillStyle = colourOf(i);
        context.globalAlpha = 0.75;
        context.beginPath();
        context.arc(state.x(point.x), state.y(point.y), radiusOf(point), 0, 2 * Math.PI);
        context.fill();
        context.globalAlpha = 1;
    }

    function draw(state, context, width, height) {
        place(state, width, height);
        drawAxes(context, state, width, height);
        state.roofs.forEach((roof) => drawRoof(context, state, roof));
        // Small ones over large ones.
        state.points.map((point, i) => [point, i]).sort((a, b) => b[0].share - a[0].share)
            .forEach(([point, i]) => drawPoint(context, state, point, i));
    }

    // ---- the tip ----

    function nearest(state, x, y) {
        let best = null, least = 20;
        for (const point of state.points) {
            const distance = Math.hypot(state.x(point.x) - x, state.y(point.y) - y) - radiusOf(point);
            if (distance < least) {
                best = point;
                least = distance;
            }
        }
        return best;
    }

    function tipOf(point) {
        return point && page.tipRows(point.name, [['format', point.type || 'unknown'],
            ['rate', page.flops(point.y, 'FLOP/s')], ['FLOP/byte', String(Number(point.x.toPrecision(3)))],
            ['of its roof', point.percent ? `${point.percent.toFixed(1)} %` : 'unknown'],
            ['time', `${(point.share || 0).toFixed(1)} %`]]);
    }

    // ---- the whole ----

    page.roofline = function (block) {
        const points = read(block), roofs = roofsOf(points);
        if (points.length === 0) {
            return null;
        }
        const state = {points, roofs, axes: axesOf(points, roofs)};
        const picture = page.picture({
            label: 'Roofline: the rate of kernels by their FLOP for each byte; the table below has the figures',
            height: () => HEIGHT,
            draw: (context, width, height) => draw(state, context, width, height),
            tip: (x, y) => tipOf(nearest(state, x, y))
        });
        const shown = points.slice(0, 12);
        return el('div', {class: 'roofline'}, picture.frame, el('ul', {class: 'legend small'},
            ...shown.map((point, i) => el('li', {}, el('i', {class: `key role${i < 6 ? i : -1}`}),
                el('bdi', {}, point.name), el('span', {class: 'soft'}, point.type ? ` ${point.type}` : ''))),
            points.length > shown.length ? el('li', {class: 'soft'}, `${points.length - shown.length} more`) : null,
            el('li', {class: 'soft'}, 'the larger, the more time')));
    };
})(window.stepscope);
