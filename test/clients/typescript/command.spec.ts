import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { newOrganization, sharedApp, type TestOrganization, until } from '#testing';
import { parseXml } from '../../e2e/evaluation/xml.fixture';
import { EvalFolder } from './eval-folder.fixture';

/** Two of three answers are right. Options come first, so that a test can replace them. */
const evalOf = (options: string): string => `
import { evaluate } from 'agent-registry';

await evaluate({
  name: 'qa',
  data: [
    { id: 'a', input: 1, expected: 2 },
    { id: 'b', input: 2, expected: 4 },
    { id: 'c', input: 3, expected: 7 },
  ],
  task: ({ input }) => input * 2,
  scorers: [{ name: 'exact', score: ({ output, expected }) => output === expected }],
  ${options}
});
`;
const PASSING = evalOf("gate: [{ scorer: 'exact', min_mean: 0.6 }],");
const FAILING = evalOf("name: 'strict', gate: [{ scorer: 'exact', min_mean: 0.9 }],");

describe('agent-registry eval run', () => {
  const app = sharedApp();
  let organization: TestOrganization;
  let folder: EvalFolder;

  beforeAll(async () => {
    organization = await newOrganization(app);
    const { key } = await organization.serviceAccount('evaluator');
    folder = new EvalFolder({
      SERVICE_URL: app.url,
      SERVICE_API_KEY: key,
      SERVICE_WORKSPACE_ID: organization.workspaceId,
    });
    folder.write('passing.eval.ts', PASSING);
    folder.write('failing.eval.ts', FAILING);
  });
  afterAll(() => folder.close());

  it('names the setting if the address of the service has a path', async () => {
    const { code, stderr } = await folder.run(['eval', 'run', 'passing.eval.ts'], {
      SERVICE_URL: `${app.url}/eval/v1`,
    });
    expect([code, stderr]).toEqual([4, expect.stringContaining('Set SERVICE_URL')]);
  });

  const experiments = async (query: string): Promise<{ run_key: string }[]> => {
    const viewer = await organization.as('viewer');
    const { body } = await viewer.get<{ items: { run_key: string }[] }>(`/eval/v1/experiments?${query}`);
    return body.items;
  };

  it('prints the result to standard output, without escape codes where there is no terminal', async () => {
    const { code, stdout, stderr } = await folder.run(['eval', 'run', 'passing.eval.ts']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^qa: passed\n[^]*exact +0\.6667[^]*\n$/);
    expect(stdout).not.toContain('\u001b');
  });

  it('ends with the worst status of several files, and writes one report and the summary of a GitHub job', async () => {
    const { code, stdout } = await folder.run(
      [
        'eval',
        'run',
        'passing.eval.ts',
        'failing.eval.ts',
        '--reporter',
        'junit',
        '--output',
        'reports/gate.xml',
      ],
      { GITHUB_STEP_SUMMARY: folder.pathOf('summary.md') },
    );
    expect([code, stdout]).toEqual([3, expect.stringMatching(/^qa: passed\n[^]*\nstrict: failed\n/)]);
    const report = parseXml(folder.read('reports/gate.xml'));
    expect(report.attributes).toMatchObject({ tests: '6', failures: '1', errors: '0' });
    expect(report.children.map(({ attributes }) => attributes['name'])).toEqual(['qa', 'strict']);
    const cases = report.children[1]!.children.filter(({ name }) => name === 'testcase');
    const failed = cases.filter(({ children }) => children.some(({ name }) => name === 'failure'));
    expect(failed.map(({ attributes }) => attributes['name'])).toEqual(['exact min_mean 0.9']);
    const summary = folder.read('summary.md');
    expect(summary).toContain('### ✅ passed: ` qa `');
    expect(summary).toContain('### ❌ gate failed: ` strict `');
    expect(summary).toContain('| ` exact ` | 0.666667 | 3 |');
  });

  it('prints JSON with --json', async () => {
    const { code, stdout } = await folder.run(['eval', 'run', 'failing.eval.ts', '--json']);
    const { evaluations } = JSON.parse(stdout) as { evaluations: Record<string, unknown>[] };
    expect([code, evaluations]).toEqual([
      3,
      [
        expect.objectContaining({
          name: 'strict',
          exit_status: 3,
          summary: expect.objectContaining({ status: 'failed', cases: expect.objectContaining({ done: 3 }) }),
        }),
      ],
    ]);
  });

  it('takes the key of the run and the concurrency from the command line, and starts a new run with --fresh', async () => {
    folder.write(
      'options.eval.mjs',
      evalOf("name: 'options', runKey: 'file', concurrency: 1, task: async () => { now += 1; await new Promise((r) => setTimeout(r, 50)); most = Math.max(most, now); now -= 1; },")
        .replace('await evaluate', 'let [now, most] = [0, 0];\nconst { cases } = await evaluate')
        .concat('console.error(`at most ${most}, called ${cases.called}`);'),
    ); // oxfmt-ignore
    const run = (...args: string[]) => folder.run(['eval', 'run', 'options.eval.mjs', ...args]);
    const first = await run('--run-key', 'k1', '--concurrency', '3');
    expect([first.code, first.stderr]).toEqual([0, expect.stringContaining('at most 3, called 3')]);
    const [repeated, fresh] = [await run('--run-key', 'k1'), await run('--run-key', 'k1', '--fresh')];
    expect(repeated.stderr).toContain('at most 0, called 0');
    expect(fresh.stderr).toContain('at most 1, called 3');
    const keys = (await experiments('name=options')).map(({ run_key }) => run_key);
    expect(keys).toEqual(['k1']);
  });

  it('reports names and messages that contain markup, incomplete runs and errors', async () => {
    const hostile = '</testcase>"&amp; a|b `c` \u001b[31m <script> [x](y) @all\n';
    const check = { kind: 'min_mean', bound: 0.5, scorer: hostile, status: 'failed', reason: hostile };
    const summary = {
      status: 'incomplete',
      experimentId: 'exp_1',
      cases: { total: 2, done: 1, failed: 1 },
      scores: { [hostile]: { mean: 0.25, count: 1, change: null } },
      gate: { checks: [check] },
      regressions: [{ caseId: hostile, scorer: hostile, difference: -1 }],
      lowest: [{ caseId: hostile, scorer: hostile, score: 0, output: hostile }],
      failures: [{ caseId: hostile, input: hostile, error: hostile, count: 2 }],
      problems: [hostile],
    };
    const name = JSON.stringify(hostile);
    folder.write(
      'hostile.mjs',
      `const { started } = globalThis[Symbol.for('agent-registry.run')];
       started(${name}, Promise.resolve(${JSON.stringify(summary)}));
       started('rejects', Promise.reject(new Error(${name})));`,
    );
    const args = ['eval', 'run', 'hostile.mjs', '--reporter', 'junit'];
    const { code, stdout } = await folder.run(args, { GITHUB_STEP_SUMMARY: folder.pathOf('hostile.md') });
    expect(code).toBe(1);
    const { attributes, children } = parseXml(stdout);
    expect(attributes).toMatchObject({ tests: '3', failures: '1', errors: '2' });
    expect(children[0]!.attributes['name']).toBe(hostile.replace('\u001b', '\ufffd'));
    const markdown = folder.read('hostile.md');
    expect(markdown).toContain('### ⏸ incomplete:');
    expect(markdown).toContain('### ❌ error: ` rejects `');
    expect(markdown.replace(/(`+) .*? \1(?!`)/g, '')).not.toMatch(/(?<!\\)[<@[]|\u001b/);
  });

  const FILES: Record<string, string> = {
    'none.mjs': "import 'agent-registry';",
    'syntax.mjs': 'await evaluate({',
    'throws.mjs': `${PASSING} throw new Error('after all');`,
    'rejects.mjs': evalOf("name: '',"),
    'exits.mjs': PASSING.replace('await evaluate', 'process.exit(0); await evaluate'),
    'throws-later.mjs': `${PASSING} setTimeout(() => { throw new Error('after all'); });
      await new Promise(() => {});`,
    'hangs.mjs': 'await new Promise(() => {});',
    'away.mjs': evalOf('retryForMs: 1,'),
    'retries.mjs': evalOf('retryForMs: 2500,'),
    'not-awaited.mjs': FAILING.replace('await evaluate', 'evaluate'),
  };
  const NO_SERVICE = { SERVICE_URL: '', SERVICE_API_KEY: '', SERVICE_WORKSPACE_ID: '' };

  it.each<[title: string, args: string[], env: NodeJS.ProcessEnv, code: number, stderr: string]>([
    ['no command', [], {}, 2, 'No command is given.'],
    ['an unknown command', ['eval', 'list'], {}, 2, 'There is no command "eval list".'],
    ['no file', ['eval', 'run'], {}, 2, 'No file is given.'],
    ['a missing file', ['eval', 'run', 'missing.ts'], {}, 2, 'There is no file missing.ts.'],
    ['an unknown option', ['eval', 'run', 'none.mjs', '--colour'], {}, 2, "Unknown option '--colour'"],
    ['an invalid number', ['eval', 'run', 'none.mjs', '--concurrency', '0'], {}, 2, '--concurrency must be'],
    ['an unknown reporter', ['eval', 'run', 'none.mjs', '--reporter', 'tap'], {}, 2, '--reporter must be'],
    ['an output without a report', ['eval', 'run', 'none.mjs', '--output', 'x'], {}, 2, '--output needs'],
    ['an output that is a folder', ['eval', 'run', 'none.mjs', '--json', '--output', '.'], {}, 2, 'EISDIR'],
    ['a file without evaluate', ['eval', 'run', 'none.mjs'], {}, 2, 'none.mjs does not call evaluate().'],
    ['a syntax error', ['eval', 'run', 'syntax.mjs'], {}, 1, 'SyntaxError'],
    ['an error after the evaluation', ['eval', 'run', 'throws.mjs'], {}, 1, 'Error: after all'],
    ['an invalid evaluation', ['eval', 'run', 'rejects.mjs'], {}, 1, 'TypeError'],
    ['a file that ends the process', ['eval', 'run', 'exits.mjs'], {}, 1, 'ended before the evaluations did'],
    ['an error in a timer', ['eval', 'run', 'throws-later.mjs'], {}, 1, 'Error: after all'],
    ['a file that never ends', ['eval', 'run', 'hangs.mjs'], {}, 1, 'ended before the evaluations did'],
    ['a wrong key', ['eval', 'run', 'passing.eval.ts'], { SERVICE_API_KEY: 'rsk_wrong' }, 4, '401'],
    ['no configuration', ['eval', 'run', 'passing.eval.ts'], NO_SERVICE, 4, 'SERVICE_URL'],
    ['no service', ['eval', 'run', 'away.mjs'], { SERVICE_URL: 'http://127.0.0.1:1' }, 5, '127.0.0.1:1'],
    [
      'what it retries',
      ['eval', 'run', 'retries.mjs'],
      { SERVICE_URL: 'http://127.0.0.1:1' },
      5,
      '127.0.0.1:1: bad port. Retrying.',
    ],
    [
      'no workspace',
      ['eval', 'run', 'passing.eval.ts'],
      { SERVICE_WORKSPACE_ID: '' },
      4,
      'Set SERVICE_WORKSPACE_ID',
    ],
    [
      'a wrong workspace',
      ['eval', 'run', 'passing.eval.ts'],
      { SERVICE_WORKSPACE_ID: 'wsp_00000000000000000000000000' },
      4,
      'Set SERVICE_WORKSPACE_ID',
    ],
    ['an evaluation that is not awaited', ['eval', 'run', 'not-awaited.mjs'], {}, 3, ''],
  ])('reports %s', async (_title, args, env, code, stderr) => {
    for (const [name, text] of Object.entries(FILES)) if (args.includes(name)) folder.write(name, text);
    const end = await folder.run(args, env);
    expect([end.code, end.stderr]).toEqual([code, expect.stringContaining(stderr)]);
  });

  it.each([
    ['passed', 'min_mean: 0.6', ['ends.mjs'], 0],
    ['failed', 'min_mean: 0.9', ['ends.mjs'], 3],
    ['failed before', 'min_mean: 0.6', ['failing.eval.ts', 'ends.mjs'], 3],
    ['were left out', 'min_mean: 0.6', ['ends.mjs', 'passing.eval.ts'], 1],
  ])(
    'keeps the status if a file ends the process after evaluations that %s',
    async (_title, rule, files, code) => {
      const text = evalOf(`name: 'ends', gate: [{ scorer: 'exact', ${rule} }],`);
      folder.write(
        'ends.mjs',
        `${text.replace('await', 'const summary = await')} process.exit(summary.passed ? 0 : 1);`,
      );
      const end = await folder.run(['eval', 'run', ...files, '--json']);
      expect(end.code).toBe(code);
      if (code === 1) expect(end.stderr).toContain('ended before the evaluations did');
      else expect(JSON.parse(end.stdout).evaluations).toHaveLength(files.length);
    },
  );

  it('sets the status without the command, also if the file shows the progress itself', async () => {
    folder.write(
      'quiet.mjs',
      evalOf("name: 'quiet', gate: [{ scorer: 'exact', min_mean: 0.9 }], onProgress: () => {},"),
    );
    expect(await folder.script('quiet.mjs')).toEqual({ code: 3, stdout: '', stderr: '' });
  });

  it('says how to continue a run that --fresh began', async () => {
    const options = (task: string): string => evalOf(`name: 'fresh', task: ${task},`);
    const stopping =
      "({ id, signal }) => { if (id === 'a') return 0; process.kill(process.pid, 'SIGINT'); return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))); }";
    folder.write('fresh.mjs', options(stopping));
    const env = { GITHUB_SHA: 'commit-1' };
    const first = await folder.run(['eval', 'run', 'fresh.mjs', '--fresh'], env);
    expect(first.code).toBe(6);
    expect(first.stdout).toContain('Start the run again without resume: false (--fresh) to continue.');
    folder.write('fresh.mjs', options('() => 0'));
    const { stdout } = await folder.run(['eval', 'run', 'fresh.mjs'], env);
    expect(stdout).toContain('Calls of the task: 2.');
  });

  it('is incomplete after Ctrl-C, although the file ends the process', async () => {
    const text = evalOf(
      "name: 'exits', task: () => { process.kill(process.pid, 'SIGINT'); return new Promise(() => {}); },",
    );
    folder.write('exits-late.mjs', `${text}process.exit(0);`);
    const { code, stdout } = await folder.run(['eval', 'run', 'exits-late.mjs']);
    expect([code, stdout]).toEqual([6, expect.stringMatching(/^exits: incomplete\n/)]);
  });

  it('stops at Ctrl-C, and continues when it is started again', async () => {
    const task = `({ id, signal }) => {
      appendFileSync('calls', id);
      if (id !== 'b' || existsSync('reached')) return 0;
      writeFileSync('reached', '');
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    }`;
    const evaluation = evalOf(`name: 'stopped', signal: new AbortController().signal, task: ${task},`);
    const imports = "import { appendFileSync, existsSync, writeFileSync } from 'node:fs';";
    folder.write('stopped.mjs', `${imports}${evaluation}`);
    const { child, ended } = folder.start(['eval', 'run', 'stopped.mjs']);
    await until(() => existsSync(folder.pathOf('reached')));
    child.kill('SIGINT');
    const stopped = await ended;
    expect([stopped.code, stopped.stderr]).toEqual([6, expect.stringContaining('Stopping.')]);
    expect(stopped.stdout).toMatch(
      /^stopped: incomplete\n[^]*The run was interrupted\. Start the run again to continue\.\n/,
    );
    expect((await folder.run(['eval', 'run', 'stopped.mjs'])).code).toBe(0);
    expect(readFileSync(folder.pathOf('calls'), 'utf8')).toBe('abbc');
  });

  it('ends at once at the second Ctrl-C', async () => {
    const after = "writeFileSync('stuck', ''); await new Promise((r) => setTimeout(r, 600_000));";
    folder.write('stuck.mjs', `import { writeFileSync } from 'node:fs';${PASSING}${after}`);
    const { child, ended } = folder.start(['eval', 'run', 'stuck.mjs']);
    await until(() => existsSync(folder.pathOf('stuck')));
    child.kill('SIGINT');
    await once(child.stderr!, 'data');
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
  });

  it('says what to do about TypeScript that Node cannot run', async () => {
    folder.write('enum.eval.ts', `enum Kind { a = 1 }\n${PASSING}`);
    const { code, stderr } = await folder.run(['eval', 'run', 'enum.eval.ts']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('install tsx in your project')]);
  });
});
