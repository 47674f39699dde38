import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { agree, StandaloneService, TestJudge } from '#testing';

const run = promisify(execFile);

const PAGE = 'docs/evaluate-in-ci.md';
const QUESTIONS = 200;

/** The files of the page, by name. */
const FILES = new Map(
  [...readFileSync(PAGE, 'utf8').matchAll(/^```\w+ (\S+)\n(.*?)^```$/gms)].map(([, name, text]) => [
    name!,
    text!,
  ]),
);

/** Answers all questions, but the model `weak` misses every tenth. It fails at the question in the file `crash`. */
const ASK = `#!/usr/bin/env bash
NUMBER=\${2//[^0-9]/}
if [ "$NUMBER" = "$(cat crash 2> /dev/null)" ]; then exit 1; fi
if [ -f stop ] && [ "$NUMBER" -gt 3 ]; then kill $PPID; exit 1; fi
if [ "$1" = weak ] && [ $((NUMBER % 10)) = 0 ]; then echo wrong; else echo $((NUMBER * 2)); fi
`;

const missing = ['bash', 'curl', 'jq'].filter((tool) => spawnSync(tool, ['--version']).status !== 0);
if (missing.length > 0) {
  process.stderr.write(`there is no ${missing.join(', ')}: the test of the guide to CI is SKIPPED.\n`);
}

(missing.length === 0 ? describe : describe.skip)('the guide to evaluations in CI', () => {
  let judge: TestJudge;
  let service: StandaloneService;
  let directory: string;

  beforeAll(async () => {
    judge = await TestJudge.listen();
    judge.reply = agree;
    service = await StandaloneService.start({ env: judge.env });
    directory = mkdtempSync(path.join(tmpdir(), 'ci-guide-'));
    for (const [name, text] of FILES) writeFileSync(path.join(directory, name), text);
    const rows = Array.from({ length: QUESTIONS }, (_, i) => `What is 2 times ${i + 1}?,${2 * (i + 1)}\n`);
    file('questions.csv', `input,expected\n${rows.join('').replaceAll('2 times', 'twice')}`);
    file('ask', ASK);
    chmodSync(path.join(directory, 'ask'), 0o755);
  }, 120_000);
  afterAll(async () => {
    await service.stop();
    await judge.close();
    rmSync(directory, { recursive: true });
  });

  const file = (name: string, text: string): void => writeFileSync(path.join(directory, name), text);

  /** Runs a script of the page. @returns its exit code and output */
  async function script(
    name: string,
    model: string,
    commit: string,
  ): Promise<{ code: number; output: string }> {
    const { base_url: BASE_URL, api_key: API_KEY, workspace_id: WORKSPACE } = service.bootstrap;
    const env = { ...process.env, BASE_URL, API_KEY, WORKSPACE, COMMIT: commit };
    try {
      const { stdout } = await run('bash', [name, model], {
        cwd: directory,
        env,
        maxBuffer: 64 * 1024 * 1024,
      });
      return { code: 0, output: stdout };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number | null; stdout: string; stderr: string };
      return { code: code ?? -1, output: stdout + stderr };
    }
  }

  it('has fewer than 40 lines of shell', () => {
    const lines = [...FILES].flatMap(([name, text]) => (name.endsWith('.sh') ? text.trim().split('\n') : []));
    expect(lines.length).toBeLessThan(40);
  });

  it('leads two models to a gate, and a break-off, a crash, a retry and a worse build to the right conclusion', async () => {
    expect((await script('setup.sh', '', '')).code).toBe(0);

    // the first build of each model passes, without a baseline
    for (const model of ['good', 'weak']) {
      const first = await script('eval.sh', model, 'commit 1');
      expect([model, first.code, first.output]).toEqual([model, 0, expect.stringContaining('skipped="2"')]);
    }
    expect((await script('promote.sh', 'good', 'commit 1')).output).toContain('qa-good');

    // a retry of a finished job gives the same answer, and asks nothing again
    const asked = judge.asked.length;
    expect((await script('eval.sh', 'good', 'commit 1')).code).toBe(0);
    expect(judge.asked).toHaveLength(asked);

    // a job that breaks off leaves a running experiment, which its retry completes
    file('stop', '');
    expect((await script('eval.sh', 'good', 'commit 2')).code).not.toBe(0);
    rmSync(path.join(directory, 'stop'));
    const retried = await script('eval.sh', 'good', 'commit 2');
    expect([retried.code, retried.output]).toEqual([0, expect.stringContaining('name="result_count" value="200"')]);

    // a question that fails each time counts as wrong
    file('crash', '7');
    const crashed = await script('eval.sh', 'good', 'commit 3');
    expect(crashed.output).toContain('name="error_count" value="1"');
    expect(crashed.output).toMatch(/"exact": \{\s*"mean": 0\.995,\s*"count": 200/);
    rmSync(path.join(directory, 'crash'));

    // a worse build fails, by name of the rule
    file('ask', ASK.replace('"$1" = weak', '"$1" = good'));
    const worse = await script('eval.sh', 'good', 'commit 4');
    expect([worse.code, worse.output]).toEqual([1, expect.stringMatching(/<failure type="max_regression"[^>]*-0\.1 /)]);
  }, 300_000); // prettier-ignore
});
