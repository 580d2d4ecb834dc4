// Draws the shipped dashboards in Chromium against a running Prometheus and Jaeger, and saves pictures of them.
//
//   npm ci --ignore-scripts && node render.mjs --prometheus http://127.0.0.1:9090 --jaeger http://127.0.0.1:16686 --into FOLDER
import { createServer } from 'node:http';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { build } from 'esbuild';
import { chromium } from 'playwright-core';

const here = path.dirname(fileURLToPath(import.meta.url));
const dashboards = path.join(here, '..', 'dashboards');
const { values: options } = parseArgs({
  options: {
    prometheus: { type: 'string', default: 'http://127.0.0.1:9090' },
    jaeger: { type: 'string', default: 'http://127.0.0.1:16686' },
    into: { type: 'string', default: '.' },
    from: { type: 'string', default: 'now-30m' },
    interval: { type: 'string', default: '60' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
  },
});

// @grafana/scenes imports generated modules of @grafana/schema without their ending, and somebody requires what others
// import: each package must be there once, since they hold the services that the page sets. The CommonJS ones, whose default imports esbuild takes as they are meant.
const once = {
  name: 'once',
  setup(bundler) {
    bundler.onResolve({ filter: /^@grafana\/(data|i18n|runtime|schema|ui)$/ }, ({ path: name, kind, ...from }) =>
      kind === 'require-call'
        ? undefined
        : bundler.resolve(name, { resolveDir: from.resolveDir, kind: 'require-call', importer: from.importer }),
    );
    bundler.onResolve({ filter: /^@grafana\/schema\/dist\/esm\/.*\.gen$/ }, ({ path: name, ...from }) =>
      bundler.resolve(`${name}.js`, { resolveDir: from.resolveDir, kind: from.kind, importer: from.importer }),
    );
  },
};

async function bundle() {
  const { outputFiles } = await build({
    entryPoints: [path.join(here, 'src', 'page.tsx')],
    bundle: true,
    write: false,
    outdir: here,
    format: 'iife',
    jsx: 'automatic',
    logLevel: 'error',
    plugins: [once],
    loader: { '.svg': 'dataurl', '.png': 'dataurl', '.woff2': 'dataurl', '.woff': 'dataurl', '.ttf': 'dataurl' },
    define: { 'process.env.NODE_ENV': '"production"', global: 'globalThis' },
  });
  return Object.fromEntries(outputFiles.map((file) => [path.extname(file.path), file.text]));
}

const PAGE = `<!doctype html><html><head><meta charset="utf-8"><link rel="stylesheet" href="/page.css"><style>
body { margin: 0; background: #111217; }
h1 { color: #ccccdc; font: 500 20px sans-serif; margin: 14px 16px 4px; }
#root { padding: 0 8px 8px; font-family: sans-serif; display: flex; flex-direction: column; height: 100vh; box-sizing: border-box; }
#root > div { flex: 1; }
.empty { display: flex; height: 100%; align-items: center; justify-content: center; color: rgba(204,204,220,.65); }
.exemplar { width: 6px; height: 6px; border: 1px solid #ff9830; transform: rotate(45deg); }
</style></head><body><div id="root"></div>
<script>window.grafanaBootData = { settings: {}, user: { timezone: 'utc', locale: 'en' }, navTree: [] };</script>
<script src="/page.js"></script></body></html>`;

async function serve(files) {
  const proxied = { '/prometheus': options.prometheus, '/jaeger': options.jaeger };
  const server = createServer(async (request, response) => {
    const send = (status, type, body) => response.writeHead(status, { 'content-type': type }).end(body);
    const { pathname, search } = new URL(request.url, 'http://page');
    try {
      const prefix = Object.keys(proxied).find((one) => pathname.startsWith(`${one}/`));
      if (prefix) {
        const answer = await fetch(proxied[prefix] + pathname.slice(prefix.length) + search);
        send(answer.status, 'application/json', Buffer.from(await answer.arrayBuffer()));
      } else if (pathname === '/') {
        send(200, 'text/html', PAGE);
      } else if (pathname.startsWith('/page.')) {
        const ending = path.extname(pathname);
        send(200, ending === '.css' ? 'text/css' : 'text/javascript', files[ending] ?? '');
      } else if (pathname.startsWith('/dashboards/')) {
        send(200, 'application/json', await readFile(path.join(dashboards, path.basename(pathname))));
      } else if (pathname.startsWith('/public/')) {
        const file = path.join(here, 'node_modules', '@grafana', 'ui', 'dist', path.normalize(pathname));
        send(200, 'image/svg+xml', await readFile(file));
      } else if (pathname === '/favicon.ico') {
        send(204, 'image/x-icon', '');
      } else {
        send(404, 'text/plain', pathname);
      }
    } catch (error) {
      send(502, 'text/plain', String(error));
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function picture(browser, address, name) {
  const board = JSON.parse(await readFile(path.join(dashboards, `${name}.json`), 'utf8'));
  const height = Math.max(...board.panels.map(({ gridPos }) => gridPos.y + gridPos.h)) * 38 + 160;
  const page = await browser.newPage({ viewport: { width: 1600, height } });
  const troubles = [];
  page.on('pageerror', (error) => troubles.push(String(error.stack ?? error)));
  page.on('response', (answer) => answer.ok() || answer.url().includes('/fonts/') || troubles.push(`${answer.status()} ${answer.url()}`));
  await page.goto(`${address}/?dashboard=${name}&from=${options.from}&interval=${options.interval}`);
  await page.waitForLoadState('networkidle');
  await page.waitForTimeout(3000);
  await page.screenshot({ path: path.join(options.into, `${name}.png`) });
  const asked = await page.evaluate(() => window.drawn?.log ?? []);
  await page.close();
  console.log(`${name}: ${asked.length} queries, ${asked.filter(({ series }) => !series).length} of them without data`);
  for (const { expr } of asked.filter(({ series }) => !series)) {
    console.log(`  without data: ${expr}`);
  }
  for (const trouble of new Set(troubles)) {
    console.log(`  trouble: ${trouble.slice(0, 400)}`);
  }
  return troubles.length;
}

await mkdir(options.into, { recursive: true });
const server = await serve(await bundle());
const profile = await mkdtemp(path.join(tmpdir(), 'dashboards-'));
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: options.chromium,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
try {
  const names = (await readdir(dashboards)).filter((file) => file.endsWith('.json')).map((file) => path.basename(file, '.json'));
  let troubles = 0;
  for (const name of names.sort()) {
    troubles += await picture({ newPage: async ({ viewport }) => { const page = await browser.newPage(); await page.setViewportSize(viewport); return page; } }, `http://127.0.0.1:${server.address().port}`, name);
  }
  process.exitCode = troubles ? 1 : 0;
} finally {
  await browser.close();
  server.close();
  await rm(profile, { recursive: true, force: true });
}
