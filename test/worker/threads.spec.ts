import { readdirSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';

/** Packages of the API and the database, which take a second and about 100 MB. */
const LARGE = /node_modules[/](@nestjs|class-validator|express|typeorm|pg|bullmq)[/]/;
const LIST = `const { parentPort, workerData } = require('node:worker_threads');
require(workerData);
parentPort.postMessage(Object.keys(require.cache));`;

const FILES = ['src', 'libs'].flatMap((root) =>
  readdirSync(path.join('dist', root), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.thread.js'))
    .map((file) => path.join(root, file)),
);

describe('the threads of a process', () => {
  it('load neither the API nor the database, so that they start quickly and stay small', async () => {
    expect(FILES).toContain('src/evaluation/scorers/engine/threads/code.thread.js');
    for (const file of FILES) {
      const thread = new Worker(LIST, { eval: true, workerData: path.resolve('dist', file) });
      const loaded = await new Promise<string[]>((resolve, reject) => {
        thread.once('message', resolve).once('error', reject);
      });
      await thread.terminate();
      expect({ file, large: loaded.filter((one) => LARGE.test(one)) }).toEqual({ file, large: [] });
    }
  });
});
