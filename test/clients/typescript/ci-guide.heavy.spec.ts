import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpForwarder, newOrganization, sharedJudge, type TestOrganization, until } from '#testing';
import { type CommandEnd, EvalFolder } from './eval-folder.fixture';

const PAGE = 'docs/guides/evaluate-in-ci.md';
const QUESTIONS = 10;

/**
 * Answers all questions. If there is a file `weak`, it misses the tenth; with `down`, it fails at the last five; with `stop`, it
 * hangs after three. The file `asked` has a line for each call that ended.
 */
const AGENT = `
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';

export async function ask(question) {
  const number = Number(/(\\d+)\\?/.exec(question)[1]);
  if (existsSync('stop') && number > 3) {
    writeFileSync('stopped', '');
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  }
  appendFileSync('asked', number + '\\n');
  if (existsSync('down') && number > 5) throw new Error('The model is down.');
  return existsSync('weak') && number === 10 ? 'wrong' : String(number * 2);
}
`;

describe('the guide to evaluations in CI', () => {
  const judged = sharedJudge();
  let organization: TestOrganization;
  let folder: EvalFolder;

  beforeAll(async () => {
    organization = await newOrganization(judged.app);
    const { key } = await organization.serviceAccount('evaluator');
    folder = new EvalFolder({
      SERVICE_URL: judged.app.url,
      SERVICE_API_KEY: key,
      SERVICE_WORKSPACE_ID: organization.workspaceId,
    });
    for (const [, name, text] of readFileSync(PAGE, 'utf8').matchAll(/^```\w+ qa\/(\S+)\n(.*?)^```$/gms))
      folder.write(name!, text!);
    const rows = Array.from(
      { length: QUESTIONS },
      (_, i) => `q${i + 1},What is twice ${i + 1}?,${2 * (i + 1)}\n`,
    );
    folder.write('questions.csv', `id,input,expected\n${rows.join('')}`);
    folder.write('agent.mjs', AGENT);
    expect((await folder.script('setup.mjs')).code).toBe(0);
  }, 60_000);
  afterAll(() => folder.close());

  const evaluateAt = (commit: string, ...args: string[]): Promise<CommandEnd> =>
    folder.run(['eval', 'run', 'qa.eval.ts', ...args], { GITHUB_SHA: commit });
  const remove = (name: string): void => rmSync(folder.pathOf(name), { force: true });
  /** Runs something, and returns the questions that the agent was asked, in numerical order. */
  const asked = async (run: () => Promise<unknown>): Promise<number[]> => {
    remove('asked');
    await run();
    const lines = existsSync(folder.pathOf('asked')) ? folder.read('asked').trim().split('\n') : [];
    return lines.map(Number).sort((a, b) => a - b);
  };
  const experimentsAt = async (commit: string): Promise<{ experiment_status: string }[]> => {
    const viewer = await organization.as('viewer');
    const target = `/eval/v1/experiments?name=qa&run_key=${commit}`;
    return (await viewer.get<{ items: { experiment_status: string }[] }>(target)).body.items;
  };

  it('leads a first build, a break-off, failures and a worse build to the right conclusion', async () => {
    const first = await evaluateAt('commit-1');
    expect([first.code, first.stdout]).toEqual([0, expect.stringContaining('skipped matches max_regression')]);
    expect((await folder.script('promote.mjs', { GITHUB_SHA: 'commit-1' })).stdout).toContain('is the baseline');

    // a repeated job gives the same answer, and asks nothing again
    const requests = judged.judge.requests.length;
    expect(await asked(async () => expect((await evaluateAt('commit-1')).code).toBe(0))).toEqual([]);
    expect(judged.judge.requests).toHaveLength(requests);

    // a job that is killed leaves an open experiment, and its retry repeats no finished call
    folder.write('stop', '');
    const finished = await asked(async () => {
      const { child, ended } = folder.start(['eval', 'run', 'qa.eval.ts'], { GITHUB_SHA: 'commit-2' });
      await until(() => existsSync(folder.pathOf('stopped')) && folder.read('asked').split('\n').length > 3);
      child.kill('SIGKILL');
      await ended;
    });
    remove('stop');
    expect(await experimentsAt('commit-2')).toMatchObject([{ experiment_status: 'running' }]);
    const rest = await asked(async () => {
      const retried = await evaluateAt('commit-2');
      expect([retried.code, retried.stdout]).toEqual([0, expect.stringContaining('10 cases: 10 done')]);
    });
    expect([finished, rest]).toEqual([[1, 2, 3], [4, 5, 6, 7, 8, 9, 10]]);
    expect(await experimentsAt('commit-2')).toMatchObject([{ experiment_status: 'completed' }]);

    // failures fail the gate and leave the experiment open, and the retry asks only what failed
    folder.write('down', '');
    const down = await evaluateAt('commit-3');
    expect([down.code, down.stdout]).toEqual([3, expect.stringContaining('failed  max_error_rate')]);
    expect(down.stdout).toContain('The model is down.');
    remove('down');
    const again = await asked(async () => expect((await evaluateAt('commit-3')).code).toBe(0));
    expect(again).toEqual([6, 7, 8, 9, 10]);

    // a judge that is down makes the run incomplete, and the retry scores what is missing
    judged.judge.reply = () => ({ status: 401 });
    folder.write('agent.mjs', AGENT.replace('String(number * 2)', 'number * 2 + "."')); // answers that the judge has not seen
    const unjudged = await evaluateAt('commit-4');
    expect([unjudged.code, unjudged.stdout]).toEqual([6, expect.stringContaining('judged')]);
    expect(await experimentsAt('commit-4')).toMatchObject([{ experiment_status: 'running' }]);
    judged.judge.reset();
    expect(await asked(() => evaluateAt('commit-4'))).toEqual([]);
    expect(await experimentsAt('commit-4')).toMatchObject([{ experiment_status: 'completed' }]);
    folder.write('agent.mjs', AGENT);

    // a worse build fails, and the report names the rule and the case
    folder.write('weak', '');
    const worse = await evaluateAt('commit-5', '--reporter', 'junit', '--output', 'gate.xml');
    expect([worse.code, worse.stdout]).toEqual([3, expect.stringContaining('q10  matches -1')]);
    expect(folder.read('gate.xml')).toMatch(/<failure type="max_regression"[^>]* 0\.1 lower /);
    remove('weak');

    // other questions for the same commit are refused
    const questions = folder.read('questions.csv');
    folder.write('questions.csv', questions.replace('twice 1?', 'twice 100?'));
    const other = await evaluateAt('commit-5');
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('409')]);
    folder.write('questions.csv', questions);
  }, 300_000); // oxfmt-ignore

  it('passes although the service is unavailable for every other request', async () => {
    const unavailable = createServer((request, response) => {
      const headers = { 'Content-Type': 'application/problem+json' };
      request.resume().on('end', () => response.writeHead(503, headers).end('{"detail": "Try again."}'));
    });
    await once(unavailable.listen(0, '127.0.0.1'), 'listening');
    const { port } = unavailable.address() as AddressInfo;
    const proxy = await HttpForwarder.to([`http://127.0.0.1:${port}`, judged.app.url]);
    const env = { GITHUB_SHA: 'commit-6', SERVICE_URL: proxy.url };
    const { code, stdout } = await folder.run(['eval', 'run', 'qa.eval.ts'], env);
    await proxy.close();
    await new Promise((resolve) => unavailable.close(resolve));
    expect([code, stdout]).toEqual([0, expect.stringContaining('10 cases: 10 done, 0 failed')]);
  }, 120_000);
});
