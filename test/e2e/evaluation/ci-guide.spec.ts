import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { agree, StandaloneService, TestJudge, until } from '#testing';

const run = promisify(execFile);

const PAGE = 'docs/evaluate-in-ci.md';
/** More than one run scores. */
const QUESTIONS = 110;

/** The files of the page, by name. */
const FILES = new Map(
  [...readFileSync(PAGE, 'utf8').matchAll(/^```\w+ (\S+)\n(.*?)^```$/gms)].map(([, name, text]) => [
    name!,
    text!,
  ]),
);

/**
 * Answers all questions, but the model `weak` misses every tenth. It fails at the question in the file `crash`, and at the
 * last ten if there is a file `down`. It hangs after three questions if there is a file `stop`.
 */
const ASK = `#!/usr/bin/env bash
NUMBER=\${2//[^0-9]/}
if [ "$NUMBER" = "$(cat crash 2> /dev/null)" ]; then exit 1; fi
if [ -f stop ] && [ "$NUMBER" -gt 3 ]; then touch stopped; sleep 60; fi
if [ -f down ] && [ "$NUMBER" -gt 100 ]; then exit 1; fi
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
    const rows = Array.from(
      { length: QUESTIONS },
      (_, i) => `q${i + 1},What is 2 times ${i + 1}?,${2 * (i + 1)}\n`,
    );
    file('questions.csv', `id,input,expected\n${rows.join('').replaceAll('2 times', 'twice')}`);
    file('ask', ASK);
    chmodSync(path.join(directory, 'ask'), 0o755);
  }, 120_000);
  afterAll(async () => {
    await service.stop();
    await judge.close();
    rmSync(directory, { recursive: true });
  });

  const file = (name: string, text: string): void => writeFileSync(path.join(directory, name), text);

  const environment = (COMMIT: string): NodeJS.ProcessEnv => {
    const { base_url: BASE_URL, api_key: API_KEY, workspace_id: WORKSPACE } = service.bootstrap;
    return { ...process.env, BASE_URL, API_KEY, WORKSPACE, COMMIT };
  };

  /** Runs the evaluation until it hangs, and kills it as a CI system would. */
  async function brokenOff(model: string, commit: string): Promise<void> {
    const options = { cwd: directory, env: environment(commit), detached: true, stdio: 'ignore' } as const;
    const child = spawn('bash', ['eval.sh', model], options);
    await until(() => existsSync(path.join(directory, 'stopped')));
    process.kill(-child.pid!, 'SIGKILL');
    await once(child, 'exit');
  }

  const api = async <Body>(target: string, body?: unknown): Promise<Body> => {
    const { base_url, api_key, workspace_id } = service.bootstrap;
    const answer = await fetch(`${base_url}/eval/v1/${target}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${api_key}`,
        'x-service-workspace-id': workspace_id,
        'content-type': 'application/json',
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await answer.json()) as Body;
  };
  const experiments = async (name: string, runKey: string) =>
    (
      await api<{ items: { experiment_id: string; experiment_status: string }[] }>(
        `experiments?name=${name}&run_key=${runKey}`,
      )
    ).items;
  /** The reasons of the gate's checks. */
  const gate = async (id: string): Promise<string> => {
    const rules = JSON.parse(FILES.get('gate.json')!) as object;
    const { checks } = await api<{ checks: { reason: string }[] }>(`experiments/${id}/gate`, rules);
    return checks.map(({ reason }) => reason).join('\n');
  };

  /** Runs a script of the page. @returns its exit code and output */
  async function script(
    name: string,
    model: string,
    commit: string,
    more: Record<string, string> = {},
  ): Promise<{ code: number; output: string }> {
    const env = { ...environment(commit), ...more };
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
      const first = await script('eval.sh', model, 'commit-1');
      expect([model, first.code, first.output]).toEqual([model, 0, expect.stringContaining('skipped="2"')]);
    }
    expect((await script('promote.sh', 'good', 'commit-1')).output).toContain('qa-good');

    // a retry of a finished job gives the same answer, and asks nothing again
    const asked = judge.asked.length;
    expect((await script('eval.sh', 'good', 'commit-1')).code).toBe(0);
    expect(judge.asked).toHaveLength(asked);

    // a job that breaks off leaves a running experiment, which its retry completes
    file('stop', '');
    await brokenOff('good', 'commit-2');
    rmSync(path.join(directory, 'stop'));
    const [running] = await experiments('qa-good', 'commit-2');
    expect(running).toMatchObject({ experiment_status: 'running', expected_case_count: QUESTIONS });
    expect(await gate(running!.experiment_id)).toContain(`of ${QUESTIONS} cases; at least 100 % is required.`);
    const retried = await script('eval.sh', 'good', 'commit-2');
    expect([retried.code, retried.output]).toEqual([0, expect.stringContaining(`name="result_count" value="${QUESTIONS}"`)]);
    expect(await experiments('qa-good', 'commit-2')).toHaveLength(1);

    // a model that is down finalizes nothing, and the retry replaces the failures
    file('down', '');
    const down = await script('eval.sh', 'good', 'commit-3');
    expect([down.code, down.output]).toEqual([1, expect.stringContaining('10 questions failed. Retry the job.')]);
    rmSync(path.join(directory, 'down'));
    const up = await script('eval.sh', 'good', 'commit-3');
    expect([up.code, up.output]).toEqual([0, expect.stringContaining('name="error_count" value="0"')]);

    // a judge that is down finalizes nothing, and the retry scores what is missing
    judge.reply = () => ({ status: 401 });
    file('ask', ASK.replace('* 2))', '* 2)).')); // answers that the judge has not seen yet
    const unjudged = await script('eval.sh', 'good', 'commit-6');
    expect([unjudged.code, unjudged.output]).toEqual([1, expect.stringContaining('401')]);
    expect(await experiments('qa-good', 'commit-6')).toMatchObject([{ experiment_status: 'running' }]);
    judge.reply = agree;
    file('ask', ASK);

    // a question that fails each time counts as wrong, where that is accepted
    file('crash', '7');
    const crashed = await script('eval.sh', 'good', 'commit-4', { MAX_FAILED: '1' });
    expect(crashed.output).toContain('name="error_count" value="1"');
    expect(crashed.output).toMatch(/"exact": \{\s*"mean": 0\.9909\d*,\s*"count": 110/);
    rmSync(path.join(directory, 'crash'));

    // a worse build fails, by name of the rule
    file('ask', ASK.replace('"$1" = weak', '"$1" = good'));
    const worse = await script('eval.sh', 'good', 'commit-5');
    expect([worse.code, worse.output]).toEqual([1, expect.stringMatching(/<failure type="max_regression"[^>]*-0\.1 /)]);
  }, 300_000); // prettier-ignore
});
