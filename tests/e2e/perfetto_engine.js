// SPDX-License-Identifier: Apache-2.0
// Runs the trace processor that Perfetto's interface has, of a folder, on a trace:
//   node perfetto_engine.js FOLDER TRACE REPLIES SQL…
// REPLIES gets its messages, each behind its length in 4 bytes.
const fs = require("fs"), path = require("path");
const node = process; // hidden below: the engine is built for browsers
const [folder, trace, replies, ...queries] = node.argv.slice(2);
globalThis.self = globalThis;
globalThis.location = {href: "http://localhost/engine_bundle.js", search: "", pathname: "/"};
globalThis.WorkerGlobalScope = class {};
globalThis.importScripts = () => {};
globalThis.window = undefined;
const read = url => new Uint8Array(fs.readFileSync(path.join(folder, path.basename(String(url))))).buffer;
globalThis.fetch = async url => new Response(read(url), {headers: {"content-type": "application/wasm"}});
globalThis.XMLHttpRequest = class {
    open(method, url) { this.url = url; }
    send() {
        this.response = read(this.url);
        this.status = 200;
        if (this.onload) this.onload();
    }
};
globalThis.process = undefined;
(0, eval)(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"));

function varint(value) {
    const bytes = [];
    for (; value >= 128; value = Math.floor(value / 128)) bytes.push(value % 128 | 128);
    return Buffer.from([...bytes, value]);
}
const field = (number, bytes) => Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
let sequence = 0;
function request(kind, content) {
    return field(1, Buffer.concat([number(1, ++sequence), number(2, kind), content]));
}
const requests = [];
const bytes = fs.readFileSync(trace);
for (let at = 0; at < bytes.length; at += 1 << 20) {
    requests.push(request(1, field(101, bytes.subarray(at, at + (1 << 20)))));
}
requests.push(request(2, Buffer.alloc(0)));
queries.forEach(sql => requests.push(request(3, field(103, field(1, Buffer.from(sql))))));

const out = fs.openSync(replies, "w");
let answered = 0;
const port = {
    onmessage: null,
    postMessage(message) {
        const reply = Buffer.from(message), head = Buffer.alloc(4);
        head.writeUInt32LE(reply.length);
        fs.writeSync(out, Buffer.concat([head, reply]));
    },
};
self.onmessage({data: port});
(async () => {
    await new Promise(done => setTimeout(done, 1000)); // the module starts behind promises of its own
    for (const message of requests) {
        await port.onmessage({data: new Uint8Array(message)});
    }
    fs.closeSync(out);
    node.exit(0);
})().catch(error => { console.error(error); node.exit(2); });
