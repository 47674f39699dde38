import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import path from 'node:path';
import {
  createTestDatabase,
  newOrganization,
  StandaloneService,
  type TestApp,
  type TestOrganization,
} from '#testing';

export const MIB = 1024 * 1024;

/** Repeated to form a large file, so that the test does not hold one in memory. */
const BLOCK = randomBytes(MIB);
const BOUNDARY = 'boundary-of-the-test';

/**
 * V8's space for new objects, as the start scripts set it. With the default of 16 MiB, the process takes 25 MiB more
 * after its start.
 */
const SMALL_HEAP = '--max-semi-space-size=4';

/** The address of a service and a caller of it. */
interface Caller {
  pid: number;
  url: string;
  token: string;
  workspaceId: string;
}

/** A process of the service whose memory is measured. */
export class MeasuredService {
  private constructor(
    readonly caller: Caller,
    readonly stop: () => Promise<void>,
    /** Kills the process. */
    readonly kill: () => Promise<void>,
  ) {}

  /** Starts API and worker in one process, as `npm start` does. */
  static async startStandalone(): Promise<MeasuredService> {
    const database = await createTestDatabase();
    const service = await StandaloneService.start({
      databaseUrl: database.url,
      env: { NODE_OPTIONS: SMALL_HEAP, EVENT_LOOP_DELAY_LIMIT_MS: '60000' },
    });
    const { base_url: url, api_key: token, workspace_id: workspaceId } = service.bootstrap;
    return new MeasuredService(
      { pid: service.pid, url, token, workspaceId },
      () => service.stop().then(() => database.drop()),
      () => service.stop(0).then(() => database.drop()),
    );
  }

  /**
   * Starts only the API, as `npm run start:api` does, with the database and storage of another app.
   *
   * @param of the organization of the caller. Defaults to a new one
   */
  static async startApi(app: TestApp, of?: TestOrganization): Promise<MeasuredService> {
    const organization = of ?? (await newOrganization(app));
    const child = spawn(process.execPath, [path.resolve('dist/src/main.js')], {
      env: { PATH: process.env.PATH, ...app.env, LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const end = async (signal: NodeJS.Signals): Promise<void> => {
      child.kill(signal);
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    };
    const url = await new Promise<string>((resolve, reject) => {
      let output = '';
      child.stdout.on('data', (text: Buffer) => {
        output = (output + text.toString()).slice(-10_000);
        const [, found] = /"url":"([^"]+)"/.exec(output) ?? [];
        if (found !== undefined) resolve(found);
      });
      child.once('exit', (code) => reject(new Error(`The API ended with ${code}: ${output}`)));
    });
    const token = await organization.token('editor');
    return new MeasuredService(
      { pid: child.pid!, url, token, workspaceId: organization.workspaceId },
      () => end('SIGTERM'),
      () => end('SIGKILL'),
    );
  }

  /** Returns the peak memory of the process since its start, in MiB. Linux only. */
  async peak(): Promise<number> {
    const status = await readFile(`/proc/${this.caller.pid}/status`, 'utf8');
    return Math.round(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)![1]) / 1024);
  }

  /** Uploads a file. @returns its path */
  async upload(name: string, mebibytes: number, how: 'raw' | 'form'): Promise<string> {
    const { workspaceId: workspace_id } = this.caller;
    const query = how === 'raw' ? `?${new URLSearchParams({ workspace_id, name }).toString()}` : '';
    const type = how === 'raw' ? 'application/octet-stream' : `multipart/form-data; boundary=${BOUNDARY}`;
    const sent = this.request('POST', `/file/v1/files${query}`, { 'content-type': type });
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    if (how === 'form') {
      const part = (disposition: string): string =>
        `--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`;
      sent.write(
        `${part('name="workspace_id"')}${workspace_id}\r\n${part(`name="file"; filename="${name}"`)}`,
      );
    }
    for (let n = 0; n < mebibytes; n++) {
      if (!sent.write(BLOCK)) await once(sent, 'drain');
    }
    sent.end(how === 'form' ? `\r\n--${BOUNDARY}--\r\n` : '');
    const [answer] = await answered;
    let text = '';
    for await (const chunk of answer.setEncoding('utf8')) text += chunk as string;
    if (answer.statusCode !== 201) throw new Error(`${answer.statusCode}: ${text}`);
    return answer.headers.location!;
  }

  /** Downloads a file. @returns its SHA-256 */
  async download(file: string): Promise<string> {
    const hash = createHash('sha256');
    for await (const chunk of await this.answer(file)) hash.update(chunk as Buffer);
    return hash.digest('hex');
  }

  /** Lets clients read a file slowly for a while. @returns how many were still reading at the end */
  async readSlowly(file: string, readers: number, seconds: number): Promise<number> {
    const answers = await Promise.all(Array.from({ length: readers }, () => this.answer(file)));
    let broken = 0;
    for (const answer of answers) answer.on('error', () => (broken += 1)).pause();
    for (let n = 0; n < seconds * 10; n++) {
      for (const answer of answers) answer.read(16 * 1024);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const reading = answers.filter((answer) => !answer.complete && !answer.destroyed).length;
    for (const answer of answers) answer.destroy();
    return reading - broken;
  }

  private async answer(file: string): Promise<IncomingMessage> {
    const [answer] = (await once(this.request('GET', `${file}/content`).end(), 'response')) as [
      IncomingMessage,
    ];
    if (answer.statusCode !== 200) throw new Error(`GET ${file}: ${answer.statusCode}`);
    return answer;
  }

  private request(method: string, target: string, headers: Record<string, string> = {}) {
    const { url, token } = this.caller;
    return request(url + target, {
      method,
      agent: false,
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
  }
}

/** Yields the blocks of a body. */
export function* blocks(mebibytes: number): Generator<Buffer> {
  for (let n = 0; n < mebibytes; n++) yield BLOCK;
}

/** Returns the SHA-256 of a file that `upload` sends. */
export function digestOf(mebibytes: number): string {
  const hash = createHash('sha256');
  for (let n = 0; n < mebibytes; n++) hash.update(BLOCK);
  return hash.digest('hex');
}

/** The number of MiB by which the memory of the process may grow. */
const GROWTH = 64;

/**
 * Tests that the memory of a process with API and worker stays small, whatever the size of the files.
 *
 * @param size the size of the files in MiB
 */
export function describeFileMemory(size: number, readers: number, readingSeconds: number): void {
  describe('the memory of a service with worker that receives and sends large files', () => {
    let service: MeasuredService;

    beforeAll(async () => {
      service = await MeasuredService.startStandalone();
    }, 180_000);
    afterAll(() => service.stop());

    it('grows by less than 64 MiB', async () => {
      const digest = digestOf(size);
      const started = await service.peak();
      const peaks: Record<string, number> = { started };
      const raw = await service.upload('raw', size, 'raw');
      peaks.raw = await service.peak();
      const form = await service.upload('form', size, 'form');
      peaks.form = await service.peak();
      for (const path of [raw, form]) expect(await service.download(path)).toBe(digest);
      peaks.downloaded = await service.peak();
      expect(await service.readSlowly(raw, readers, readingSeconds)).toBe(readers);
      peaks.slowly = await service.peak();
      if (process.env.TEST_SHOW_MEMORY === '1') process.stderr.write(`${JSON.stringify(peaks)}\n`);
      expect(Math.max(...Object.values(peaks)) - started).toBeLessThan(GROWTH);
    }, 600_000);
  });
}
