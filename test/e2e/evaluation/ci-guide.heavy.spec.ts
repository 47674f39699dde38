import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  agree,
  createTestDatabase,
  describeGuide,
  Guide,
  HttpForwarder,
  type ScriptEnd,
  StandaloneService,
  type TestDatabase,
  TestJudge,
  until,
} from '#testing';

const PAGE = 'docs/guides/evaluate-in-ci.md';
const QUESTIONS = 10;
/** Shortens the pauses between the reads of a batch. */
const SHORT_PAUSES = 'sleep() { command sleep 0.05; }\n';

/**
 * Answers all questions, but the model `weak` misses every tenth. It fails at the question in the file `crash`, and at the
 * last five if there is a file `down`. It hangs after three questions if there is a file `stop`.
 */
const ASK = `#!/usr/bin/env bash
NUMBER=\${2//[^0-9]/}
if [ "$NUMBER" = "$(cat crash 2> /dev/null)" ]; then exit 1; fi
if [ -f stop ] && [ "$NUMBER" -gt 3 ]; then touch stopped; command sleep 60; fi
if [ -f down ] && [ "$NUMBER" -gt 5 ]; then exit 1; fi
if [ "$1" = weak ] && [ $((NUMBER % 10)) = 0 ]; then echo wrong; else echo $((NUMBER * 2)); fi
`;

describeGuide(PAGE, () => {
  let judge: TestJudge;
  let database: TestDatabase;
  let service: StandaloneService;
  let guide: Guide;

  beforeAll(async () => {
    judge = await TestJudge.listen();
    judge.reply = agree;
    database = await createTestDatabase();
    service = await StandaloneService.start({ databaseUrl: database.url, env: judge.env });
    guide = Guide.open(PAGE, service, { workspaceId: service.bootstrap.workspace_id });
    const rows = Array.from(
      { length: QUESTIONS },
      (_, i) => `q${i + 1},What is 2 times ${i + 1}?,${2 * (i + 1)}\n`,
    );
    guide.write('questions.csv', `id,input,expected\n${rows.join('').replaceAll('2 times', 'twice')}`);
    guide.write('ask', ASK, 0o755);
    guide.write('pauses.sh', SHORT_PAUSES);
    expect((await guide.script('setup.sh', [])).code).toBe(0);
  }, 120_000);
  afterAll(async () => {
    guide.close();
    await service.stop();
    await judge.close();
    await database.drop();
  });

  /** Runs the evaluation until it hangs, and kills it as a CI system would. */
  async function brokenOff(model: string, commit: string): Promise<void> {
    const child = guide.start('eval.sh', [model], { COMMIT: commit });
    await until(() => existsSync(guide.pathOf('stopped')));
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
    const rules = JSON.parse(guide.files.get('gate.json')!) as object;
    const { checks } = await api<{ checks: { reason: string }[] }>(`experiments/${id}/gate`, rules);
    return checks.map(({ reason }) => reason).join('\n');
  };

  /** Runs a script of the page for a model and a build. */
  const script = (
    name: string,
    model: string,
    COMMIT: string,
    more?: Record<string, string>,
  ): Promise<ScriptEnd> =>
    guide.script(name, [model], { COMMIT, BASH_ENV: guide.pathOf('pauses.sh'), ...more });

  it('has fewer than 40 lines of shell', () => {
    const lines = [...guide.files].flatMap(([name, text]) =>
      name.endsWith('.sh') ? text.trim().split('\n') : [],
    );
    expect(lines.length).toBeLessThan(40);
  });

  it('leads two models to a gate, and a break-off, a crash, a retry and a worse build to the right conclusion', async () => {
    // the first build of each model passes, without a baseline
    const firsts = ['good', 'weak'].map((model) => script('eval.sh', model, 'commit-1'));
    for (const { code, output } of await Promise.all(firsts)) {
      expect([code, output]).toEqual([0, expect.stringContaining('skipped="2"')]);
    }
    expect((await script('promote.sh', 'good', 'commit-1')).output).toContain('qa-good');

    // a retry of a finished job gives the same answer, and asks nothing again
    const requestCount = judge.requests.length;
    expect((await script('eval.sh', 'good', 'commit-1')).code).toBe(0);
    expect(judge.requests).toHaveLength(requestCount);

    // a job that breaks off leaves a running experiment, which its retry completes
    guide.write('stop', '');
    await brokenOff('good', 'commit-2');
    guide.remove('stop');
    const [running] = await experiments('qa-good', 'commit-2');
    expect(running).toMatchObject({ experiment_status: 'running', expected_case_count: QUESTIONS });
    expect(await gate(running!.experiment_id)).toContain(`of ${QUESTIONS} cases have a score; at least 100% is required.`);
    const retried = await script('eval.sh', 'good', 'commit-2');
    expect([retried.code, retried.output]).toEqual([0, expect.stringContaining(`name="result_count" value="${QUESTIONS}"`)]);
    expect(await experiments('qa-good', 'commit-2')).toHaveLength(1);

    // a model that is down finalizes nothing, and the retry replaces the failures
    guide.write('down', '');
    const down = await script('eval.sh', 'good', 'commit-3');
    expect([down.code, down.output]).toEqual([1, expect.stringContaining('Failed questions: 5. Retry the job.')]);
    guide.remove('down');
    const up = await script('eval.sh', 'good', 'commit-3');
    expect([up.code, up.output]).toEqual([0, expect.stringContaining('name="error_count" value="0"')]);

    // a judge that is down finalizes nothing, and the retry scores what is missing
    judge.reply = () => ({ status: 401 });
    guide.write('ask', ASK.replace('* 2))', '* 2)).')); // answers that the judge has not seen yet
    const unjudged = await script('eval.sh', 'good', 'commit-6');
    expect([unjudged.code, unjudged.output]).toEqual([1, expect.stringContaining('401')]);
    expect(await experiments('qa-good', 'commit-6')).toMatchObject([{ experiment_status: 'running' }]);
    judge.reply = agree;
    guide.write('ask', ASK);

    // a question that fails each time counts as wrong, where that is accepted
    guide.write('crash', '7');
    const crashed = await script('eval.sh', 'good', 'commit-4', { MAX_FAILED: '1' });
    expect(crashed.output).toContain('name="error_count" value="1"');
    expect(crashed.output).toMatch(/"matches": \{\s*"mean": 0\.9,\s*"count": 10/);
    guide.remove('crash');

    // a worse build fails, by name of the rule
    guide.write('ask', ASK.replace('"$1" = weak', '"$1" = good'));
    const worse = await script('eval.sh', 'good', 'commit-5');
    expect([worse.code, worse.output]).toEqual([1, expect.stringMatching(/<failure type="max_regression"[^>]* 0\.1 lower /)]);
  }, 600_000); // oxfmt-ignore

  describe('with a service that is unavailable at times', () => {
    const unavailable = createServer((request, response) => {
      const headers = { 'Content-Type': 'application/problem+json' };
      request.resume().on('end', () => response.writeHead(503, headers).end('{"detail": "Try again."}'));
    });
    let targets: [unavailable: string, service: string];

    beforeAll(async () => {
      await once(unavailable.listen(0, '127.0.0.1'), 'listening');
      const { port } = unavailable.address() as AddressInfo;
      targets = [`http://127.0.0.1:${port}`, service.bootstrap.base_url];
      guide.write('questions.csv', 'id,input,expected\nq1,What is twice 1?,2\n');
    });
    afterAll(() => unavailable.close());

    /** Evaluates a model through a proxy. The pauses between the retries take most of the time, so models run at once. */
    const through = async (opened: Promise<HttpForwarder>, model: string): Promise<ScriptEnd> => {
      const proxy = await opened;
      const end = await script('eval.sh', model, 'commit-1', { BASE_URL: proxy.url });
      await proxy.close();
      return end;
    };

    it('retries each request, and finalizes nothing if it cannot read the state of a scoring batch', async () => {
      const isBatch = (url: string): boolean => url.includes('/score-batches/');
      const [retried, unread] = await Promise.all([
        through(HttpForwarder.to(targets), 'retried'), // every other request gets 503
        through(
          HttpForwarder.to(targets, {}, (url) => (isBatch(url) ? 0 : 1)),
          'unread',
        ),
      ]);
      expect(retried).toEqual({
        code: 0,
        output: expect.stringContaining('name="result_count" value="1"'),
      });
      expect(readFileSync(guide.pathOf('gate-retried.xml'), 'utf8')).toMatch(/^<\?xml[^]*<\/testsuites>\s*$/);
      expect(unread).toEqual({ code: 1, output: expect.stringContaining('Try again.') });
      expect(await experiments('qa-unread', 'commit-1')).toMatchObject([{ experiment_status: 'running' }]);
    }, 120_000);
  });
});
