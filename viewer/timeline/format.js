// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them, and elements of the page. Names of recordings are only ever text.

const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

function digits(number) {
    const size = Math.abs(number);
    return number.toFixed(size >= 99.95 || number === 0 ? 0 : size >= 9.995 ? 1 : 2);
}

/** 1234567 → "1.23 ms". */
export function duration(ns) {
    const unit = UNITS.find(([, size]) => Math.abs(ns) >= size) || UNITS[3];
    return unit[1] === 1 ? `${Math.round(ns)} ns` : `${digits(ns / unit[1])} ${unit[0]}`;
}

/** A time, exact enough to distinguish neighbours `step_ns` apart: "12.345 678 s". */
export function time(ns, step_ns = 1) {
    if (Math.abs(ns) < 1e3) {
        return ns === 0 ? "0 s" : `${Math.round(ns)} ns`;
    }
    const unit = UNITS.find(([, size]) => Math.abs(ns) >= size) || UNITS[0];
    const decimals = Math.max(0, Math.min(9, Math.ceil(Math.log10(unit[1] / Math.max(step_ns, 1)))));
    return `${(ns / unit[1]).toFixed(decimals)} ${unit[0]}`;
}

export function count(number) {
    return number.toLocaleString("en-US");
}

export function percent(share) {
    return `${digits(100 * share)} %`;
}

/** A value of a counter with its unit. */
export function value(number, unit) {
    if (number === null) {
        return "–";
    }
    if (unit === "ns") {
        return duration(number);
    }
    if (unit === "bytes" || unit === "bytes/s") {
        const power = Math.min(4, Math.max(0, Math.floor(Math.log2(Math.abs(number) || 1) / 10)));
        const name = ["bytes", "KiB", "MiB", "GiB", "TiB"][power];
        return `${digits(number / 1024 ** power)} ${name}${unit === "bytes" ? "" : "/s"}`;
    }
    const text = Number.isInteger(number) ? count(number) : count(+number.toPrecision(4));
    return unit && unit !== "count" ? `${text} ${unit}` : text;
}

/** element("td", {class: "number"}, "text", child, …) */
export function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, given] of Object.entries(attributes)) {
        if (name.startsWith("on")) {
            made.addEventListener(name.slice(2), given);
        } else if (given !== undefined && given !== null && given !== false) {
            made.setAttribute(name, given === true ? "" : given);
        }
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
}
