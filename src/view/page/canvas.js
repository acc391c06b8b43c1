// SPDX-License-Identifier: Apache-2.0
// Pictures: a canvas that follows the width of the page and its colours, with a tip at the pointer
// and the keyboard; and figures as the report words them.
(function (page) {
    'use strict';
    const {el} = page;

    // ---- figures ----

    const digits = (value) => value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);

    page.duration = function (ns) {
        const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs']];
        const found = units.find(([size]) => ns >= size * 0.9995);
        return found ? `${digits(ns / found[0])} ${found[1]}` : `${Math.round(ns)} ns`;
    };

    page.bytes = function (bytes) {
        const units = [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']];
        const found = units.find(([size]) => Math.abs(bytes) >= size);
        return found ? `${(bytes / found[0]).toFixed(1)} ${found[1]}` : `${Math.round(bytes)} bytes`;
    };

    page.count = (number) => number.toLocaleString('en-US');
    page.percent = (part, whole) => whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : '0 %';

    page.withUnit = function (value, unit) {
        if (unit.startsWith('bytes')) {
            return page.bytes(value) + unit.slice('bytes'.length);
        }
        if (unit === 'ns') {
            return page.duration(value);
        }
        const rounded = Math.abs(value) >= 1000 ? page.count(Math.round(value)) : String(Number(value.toPrecision(4)));
        return unit ? `${rounded} ${unit}` : rounded;
    };

    // A distance between lines of a scale: 1, 2 or 5 times a power of ten (of two for bytes).
    page.tickOf = function (top, unit, wanted) {
        const base = unit.startsWith('bytes') ? 2 : 10;
        const raw = top / wanted;
        if (base === 2) {
            return 2 ** Math.ceil(Math.log2(raw || 1));
        }
        const power = 10 ** Math.floor(Math.log10(raw || 1));
        return [1, 2, 5, 10].map((n) => n * power).find((size) => size >= raw * 0.999);
    };

    // ---- colours ----

    page.isDark = function () {
        const theme = document.documentElement.dataset.theme;
        return theme === 'dark' || (theme !== 'light' &&
            window.matchMedia('(prefers-color-scheme: dark)').matches);
    };

    page.hash = function (text) {
        let hash = 2166136261;
        for (let i = 0; i < text.length && i < 200; i++) {
            hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
        }
        return hash >>> 0;
    };

    // ---- the canvas ----

    function resize(canvas, width, height) {
        const ratio = window.devicePixelRatio || 1;
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        canvas.style.height = `${height}px`;
        const context = canvas.getContext('2d');
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.clearRect(0, 0, width, height);
        context.font = '12px ui-sans-serif, system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
        context.textBaseline = 'middle';
        return context;
    }

    // In the window, so that no frame cuts it; below the pointer, or above where there is no room.
    function placeTip(tip, box, x, y) {
        const left = Math.min(box.left + x + 14, document.documentElement.clientWidth - tip.offsetWidth - 4);
        const below = box.top + y + 16, above = box.top + y - tip.offsetHeight - 10;
        tip.style.left = `${Math.max(0, left)}px`;
        tip.style.top = `${below + tip.offsetHeight > window.innerHeight && above > 0 ? above : below}px`;
    }

    // options: label; height(width); draw(context, width, height); and, if the picture has them,
    // tip(x, y): elements or null; click(x, y); twice(x, y); drag(from, to); key(event): handled.
    page.picture = function (options) {
        const canvas = el('canvas', {tabindex: '0', role: 'img', 'aria-label': options.label});
        const tip = el('div', {class: 'tip', 'aria-live': 'polite'});
        const frame = el('div', {class: 'picture'}, canvas, tip);
        const picture = {frame, canvas, width: 0, from: null};

        picture.draw = function () {
            picture.width = canvas.clientWidth || picture.width;
            if (picture.width > 0) {
                const height = options.height(picture.width);
                options.draw(resize(canvas, picture.width, height), picture.width, height);
            }
        };

        picture.showTip = function (content, x, y) {
            tip.replaceChildren(...(content || []));
            tip.classList.toggle('shown', Boolean(content));
            if (content) {
                placeTip(tip, frame.getBoundingClientRect(), x, y);
            }
        };

        listen(picture, options);
        new ResizeObserver(() => canvas.clientWidth !== picture.width && picture.draw()).observe(canvas);
        document.addEventListener('redraw', picture.draw);
        return picture;
    };

    function positionOf(picture, event) {
        const box = picture.canvas.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
    }

    function release(picture, options, event) {
        const [x, y] = positionOf(picture, event), from = picture.from;
        picture.from = null;
        if (from !== null && options.drag && Math.abs(x - from) > 5) {
            options.drag(Math.min(x, from), Math.max(x, from));
        } else if (from !== null && options.click) {
            options.click(x, y);
        }
    }

    function listen(picture, options) {
        const {canvas} = picture;
        canvas.addEventListener('pointerdown', (event) => {
            picture.from = event.button === 0 ? positionOf(picture, event)[0] : null;
            if (options.drag) {
                canvas.setPointerCapture(event.pointerId);
            }
        });
        canvas.addEventListener('pointermove', (event) => {
            const [x, y] = positionOf(picture, event);
            picture.showTip(options.tip ? options.tip(x, y) : null, x, y);
            if (picture.from !== null && options.dragging) {
                options.dragging(Math.min(x, picture.from), Math.max(x, picture.from));
            }
        });
        canvas.addEventListener('pointerup', (event) => release(picture, options, event));
        window.addEventListener('scroll', () => picture.showTip(null), {passive: true});
        canvas.addEventListener('pointerleave', () => picture.showTip(null));
        canvas.addEventListener('blur', () => {
            picture.showTip(null);
            picture.draw();
        });
        canvas.addEventListener('focus', () => picture.draw());
        canvas.addEventListener('dblclick', (event) => options.twice && options.twice(...positionOf(picture, event)));
        canvas.addEventListener('keydown', (event) => {
            if (options.key && !event.ctrlKey && !event.metaKey && !event.altKey && options.key(event)) {
                event.preventDefault();
            }
        });
    }

    // The rows of a tip: a title, then names and figures.
    page.tipRows = function (title, rows) {
        return [el('b', {}, el('bdi', {}, title)), el('table', {}, el('tbody', {}, ...rows.map(([name, value]) =>
            el('tr', {}, el('td', {}, el('bdi', {}, name)), el('td', {class: 'right'}, value)))))];
    };

    // A text that fits; null: not even its begin does.
    page.fit = function (context, text, width) {
        if (width < 16) {
            return null;
        }
        if (context.measureText(text).width <= width) {
            return text;
        }
        let low = 0, high = Math.min(text.length, Math.ceil(width / 3));
        while (low < high) {
            const middle = (low + high + 1) >> 1;
            if (context.measureText(text.slice(0, middle) + '…').width <= width) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low > 1 ? text.slice(0, low) + '…' : null;
    };
})(window.stepscope);
