// SPDX-License-Identifier: Apache-2.0
// The tables of speed of light and of occupancy as pictures: bars in percent for each kernel, and why.
(function (page) {
    'use strict';
    const {el} = page;
    const MOST = 8;
    const BARS = {
        'speed-of-light': [['compute', 'compute_percent', 1], ['memory', 'memory_percent', 3], ['L1', 'l1_percent', -1],
            ['L2', 'l2_percent', -1], ['DRAM', 'dram_percent', -1]],
        occupancy: [['theoretical', 'theoretical_percent', -1], ['achieved', 'achieved_percent', 1]]
    };

    const isNumber = (value) => typeof value === 'number';

    function bar(label, percent, role) {
        const length = el('i', {class: `role${role}`});
        length.style.width = `${Math.min(Math.max(percent, 0), 100)}%`;
        return el('div', {class: 'bar'}, el('span', {class: 'soft'}, label), el('div', {class: 'rail'}, length),
            el('b', {}, `${percent.toFixed(1)} %`));
    }

    function kernel(bars, keys, row) {
        const cell = (key) => row[keys.indexOf(key)];
        const shown = bars.filter(([, key]) => isNumber(cell(key)));
        const name = cell('name').length > 80 ? cell('base_name') : cell('name');
        return shown.length === 0 ? null : el('li', {}, el('bdi', {class: 'kernel'}, name),
            ...shown.map(([label, key, role]) => bar(label, cell(key), role)),
            el('p', {class: 'note aside'}, cell('sentence') || ''));
    }

    // A table without rows, or without any figure, has no picture.
    page.light = function (block) {
        const bars = BARS[block.name], {keys, rows} = block.data;
        const kernels = rows.slice(0, MOST).map((row) => kernel(bars, keys, row)).filter(Boolean);
        return kernels.length > 0 ? el('ul', {class: 'light'}, ...kernels) : null;
    };
})(window.stepscope);
