import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Client } from '#client';
import { jsonExport, newSpan, newTraceId, sharedJudge, type TestOrganization } from '#testing';
import { FakeMcpServer, fakeTool } from '../../e2e/mcp-servers/fake-mcp-server.fixture';
import { chat, chatStream, FakeProvider, modelOf } from '../../e2e/model-gateway/provider.fixture';
import { newClient } from './client.fixture';

const NAME = 'capitals of Europe / Asia';

describe('the resources of the client', () => {
  const shared = sharedJudge();
  let client: Client;
  let org: TestOrganization;
  let directory: string;

  beforeEach(async () => {
    ({ client, org } = await newClient(shared.app));
    directory = mkdtempSync(path.join(os.tmpdir(), 'resources-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  async function newTrace(input: string, output: string): Promise<string> {
    const traceId = newTraceId();
    const attributes = { 'input.value': input, 'output.value': output };
    const span = newSpan({ traceId, attributes, start: BigInt(Date.now()) * 1_000_000n });
    await client.api.ingestTraces({ body: jsonExport([span]) }, { contentType: 'application/json' });
    return traceId;
  }

  it('datasets: imports items and files, makes records of traces, and exports', async () => {
    async function* items() {
      yield { external_id: 'a', input: 'France', expected: 'Paris' };
      yield await Promise.resolve({ external_id: 'b', input: 'Japan', expected: 'Tokyo', tags: ['asia'] });
    }
    expect(await client.datasets.import(NAME, items())).toMatchObject({ created_count: 2 });
    const changed = [{ external_id: 'a', input: 'France', expected: 'Paris!' }];
    expect(await client.datasets.import(NAME, changed)).toMatchObject({ updated_count: 1, created_count: 0 });
    const csv = path.join(directory, 'more.csv');
    writeFileSync(csv, 'input,expected\nItaly,Rome\n');
    expect(await client.datasets.import(NAME, csv)).toMatchObject({ created_count: 1 });
    const jsonl = path.join(directory, 'more.jsonl');
    writeFileSync(jsonl, '{"input": "Spain", "expected": "Madrid"}\n');
    expect(await client.datasets.import(NAME, jsonl)).toMatchObject({ created_count: 1 });
    expect(await client.datasets.get(NAME)).toMatchObject({ name: NAME, record_count: 4 });

    const traces = [await newTrace('Peru', 'Lima'), await newTrace('Chile', 'Santiago')];
    const found = await client.traces.list({ since: new Date(0) });
    const made = await client.datasets.fromTraces('bad answers', found.items, {
      tags: ['bad'],
      expected: 'output',
    });
    expect(made.map(({ trace_id }) => trace_id).sort()).toEqual([...traces].sort());
    expect(await client.datasets.fromTraces('bad answers', traces)).toHaveLength(2);
    const missing = client.datasets.fromTraces('bad answers', [newTraceId()]);
    await expect(missing).rejects.toMatchObject({ status: 404 });
    const exported: unknown[] = [];
    for await (const { input, expected, tags } of client.datasets.export('bad answers'))
      exported.push([input, expected, tags]);
    expect(exported.sort()).toEqual([
      ['Chile', 'Santiago', ['bad']],
      ['Peru', 'Lima', ['bad']],
    ]);

    const { dataset_id } = await client.datasets.upsert('bad answers', { description: 'To look at' });
    expect(await client.datasets.get(dataset_id)).toMatchObject({
      description: 'To look at',
      record_count: 2,
    });
    expect(await client.datasets.records(dataset_id, { sort: '-created_at' }).take(5)).toHaveLength(2);
    expect((await client.datasets.list()).items).toHaveLength(2);
  });

  it('scorers: a function, a source, checks, a prompt and a rubric, tried on a trace', async () => {
    const trace_ids = [await newTrace('2 + 2', '4')];
    const sources = {
      function: ({ output }: { output: string }) => (output === '4' ? 1 : 0),
      method: {
        score({ output }: { output: string }) {
          return output.length;
        },
      }.score,
      source: 'function score({ input }) { return input.length / 10; }',
      judge: { prompt: 'Is {{output}} right?', output: { type: 'boolean' as const } },
      people: { rubric: 'Right?', output: { type: 'boolean' as const } },
    };
    for (const [name, source] of Object.entries(sources)) await client.scorers.upsert(name, source);
    const score = async (name: string) => (await client.scorers.test(name, { trace_ids }))[0]?.score;
    expect(await score('function')).toBe(1);
    expect(await score('method')).toBe(1);
    expect(await score('source')).toBe(0.5);
    expect(await score('judge')).toBe(1);
    const kinds = (await client.scorers.list({ sort: 'created_at' })).items.map(
      (scorer) => scorer.scorer_kind,
    );
    expect(kinds).toEqual(['code', 'code', 'code', 'llm_judge', 'human']);
    await client.scorers.upsert('source', 'function score() { return 0.25; }', { description: 'constant' });
    expect(await client.scorers.get('source')).toMatchObject({ scorer_version: 2, description: 'constant' });
    expect(await score('source')).toBe(0.25);
  });

  it('scores and feedback of a trace, and the traces with the worst', async () => {
    const [good, bad] = [await newTrace('a', 'b'), await newTrace('c', 'd')];
    await client.feedback({ traceId: bad, score: true, author: 'ada' });
    const thumb = await client.feedback({
      traceId: bad,
      score: false,
      author: 'ada',
      comment: 'wrong',
      metadata: { page: 1 },
    });
    expect(thumb).toMatchObject({ score: 0, source: 'end_user', scorer_name: 'feedback', author: 'ada' });
    await client.feedback({ traceId: good, score: true, scorer: 'feedback' });
    const worst = await client.traces.list({ sort: 'score:feedback' }).take(1);
    expect(worst.map(({ trace_id }) => trace_id)).toEqual([bad]);
    await client.scores.create({ trace_id: good, scorer_name: 'latency', score: 0.5 });
    const many = Array.from({ length: 120 }, (_, i) => ({ trace_id: good, scorer_name: `s${i}`, score: i }));
    const broken = { trace_id: good, scorer_name: 's', score: 'x' as unknown as number };
    const bulk = await client.scores.bulk([...many.slice(0, 110), broken, ...many.slice(110)]);
    expect(bulk).toHaveLength(121);
    expect(bulk.filter((item) => 'error' in item)).toEqual([
      expect.objectContaining({ index: 110, status_code: 400 }),
    ]);
    expect(await client.scores.list({ trace_id: good, source: 'client' }).take(200)).toHaveLength(121);
  });

  it('traces: waits for those that go through a collector', async () => {
    const [there, late, never] = [await newTrace('a', 'b'), newTraceId(), newTraceId()];
    const waiting = client.traces.waitFor([there, late, late], { timeoutMs: 30_000 });
    const span = newSpan({ traceId: late });
    await client.api.ingestTraces({ body: jsonExport([span]) }, { contentType: 'application/json' });
    expect(await waiting).toEqual([]);
    expect(await client.traces.waitFor([there, never], { timeoutMs: 1 })).toEqual([never]);
    expect(await client.traces.get(late)).toMatchObject({ trace_id: late });
  });

  it('experiments: promotes a baseline, compares with it, and checks a gate', async () => {
    await client.datasets.import('qa', [{ external_id: 'one', input: 1 }]);
    const { dataset_id } = await client.datasets.get('qa');
    async function run(score: number): Promise<string> {
      const { experiment_id } = await client.api.createExperiment({ body: { name: 'qa', dataset_id } });
      const [one] = await client.api.listExperimentCases({ experiment_id }).take(1);
      const { case_id, dataset_record_id } = one!;
      const body = { case_id, dataset_record_id, output: 'x', scores: { exact: score } };
      await client.api.createResult({ experiment_id, body });
      await client.api.updateExperiment({ experiment_id, body: { experiment_status: 'completed' } });
      return experiment_id;
    }
    const [first, second] = [await run(1), await run(0)];
    expect((await client.experiments.promote(first)).baselines).toEqual({ qa: first });
    expect(await client.experiments.compare(second)).toMatchObject({
      scorers: [{ scorer: 'exact', regressed: 1, difference: -1 }],
    });
    const rules = [{ scorer: 'exact', max_regression: 0 }];
    expect(await client.experiments.gate(second, rules)).toMatchObject({
      passed: false,
      baseline_experiment_id: first,
    });
    const third = await run(0);
    const lower = await client.experiments.gate(third, rules, { baseline: second });
    expect(lower).toMatchObject({ passed: true, baseline_experiment_id: second });
    const { items } = await client.experiments.list({ name: 'qa' });
    expect(items.map((each) => each.experiment_id)).toEqual([third, second, first]);
    expect(await client.experiments.get(first)).toMatchObject({ name: 'qa', experiment_status: 'completed' });
  });

  it('queue: a person answers, skips, and goes on after a break', async () => {
    const { key } = await org.serviceAccount('admin');
    ({ client } = await newClient(shared.app, { apiKey: key, workspaceId: org.workspaceId }));
    const traces = [
      await newTrace('Japan', 'Tokyo'),
      await newTrace('Peru', 'Rome'),
      await newTrace('Chile', '?'),
    ];
    await client.scorers.upsert('right', { rubric: 'Right?', output: { type: 'boolean' } });
    const choices = [
      { value: 'short', score: 1 },
      { value: 'long', score: 0 },
    ];
    await client.scorers.upsert('length', { rubric: 'Length?', output: { type: 'choice', choices } });
    const scorer_ids = await Promise.all(
      ['right', 'length'].map(async (name) => (await client.scorers.get(name)).scorer_id),
    );
    await client.api.createAnnotationQueue({
      body: { name: 'capitals', scorer_ids, source: { trace_ids: traces }, scores_per_item: 1 },
    });

    const seen: unknown[] = [];
    for await (const item of client.queue('capitals', { author: 'ada' })) {
      seen.push(item.item_id);
      expect(item.scorers.map(({ rubric }) => rubric)).toEqual(['Right?', 'Length?']);
      await expect(item.score({ wrong: true })).rejects.toThrow(
        'wrong is not a scorer of this queue. Its scorers are right, length.',
      );
      break;
    }
    const unanswered = client.queue('capitals', { author: 'ada' })[Symbol.asyncIterator]();
    expect((await unanswered.next()).value).toMatchObject({ item_id: seen[0] });
    await expect(unanswered.next()).rejects.toThrow(/has no answer. Call score\(\) or skip\(\)/);

    const queue = client.queue('capitals', { author: 'ada' });
    for await (const item of queue) {
      if (item.output === '?') await item.skip('I cannot tell');
      else await item.score({ right: { score: item.output === 'Tokyo', comment: 'atlas' }, length: 'short' });
    }
    expect(queue.reason).toBe('done');
    const { items } = await client.scores.list({ source: 'human', scorer_name: 'right' });
    expect(items.map(({ score, author }) => [score, author]).sort()).toEqual([
      [0, 'ada'],
      [1, 'ada'],
    ]);
  });

  it('agents: versions, labels, a card, and a session with its messages', async () => {
    await client.agents.upsert('planner', { model: 'gpt-5', instructions: 'Plan.' });
    const { version_ordinal } = await client.agents.upsert('planner', { instructions: 'Ask first.' });
    expect(version_ordinal).toBe(2);
    expect((await client.agents.label('planner', 'production', 1)).labels).toEqual({ production: 1 });
    expect(await client.agents.version('planner', 'production')).toMatchObject({ instructions: 'Plan.' });
    expect((await client.agents.versions('planner')).items).toHaveLength(2);
    expect(await client.agents.card('planner')).toMatchObject({ name: 'planner' });
    const { session_id } = await client.agents.startSession('planner', {
      prompt: 'Rome?',
      version_ordinal: 'production',
    });
    await client.agents.addMessage(session_id, { role: 'assistant', content: { nights: 3 } });
    const messages = await client.agents.messages(session_id).take(10);
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'Rome?'],
      ['assistant', { nights: 3 }],
    ]);
    expect((await client.agents.list()).items.map(({ name }) => name)).toEqual(['planner']);
    await expect(client.agents.get('nobody')).rejects.toMatchObject({ status: 404 });
  });

  describe('skills', () => {
    const write = (file: string, text: string): void => {
      const full = path.join(directory, 'source', file);
      mkdirSync(path.dirname(full), { recursive: true });
      writeFileSync(full, text);
    };
    const treeOf = (folder: string): string[] =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
        .sort();
    const source = (): string => path.join(directory, 'source');

    it('are pushed from a directory, and pulled into another', async () => {
      write(
        'SKILL.md',
        '---\nname: changelog\ndescription: Writes release notes.\n---\n\nGroup the commits.\n',
      );
      write('scripts/größe.py', 'print("a")\n');
      write('scripts/empty.txt', '');
      write('.env', 'SECRET=1');
      write('node_modules/x/index.js', '');
      const first = await client.skills.push(source(), { label: 'production' });
      expect(first).toMatchObject({
        name: 'changelog',
        version_ordinal: 1,
        labels: { production: 1 },
        file_count: 3,
      });
      expect(await client.skills.push(source())).toMatchObject({ version_ordinal: 1 });
      rmSync(path.join(source(), 'scripts/empty.txt'));
      write('SKILL.md', '---\nname: changelog\ndescription: Writes release notes.\n---\n\nGroup by type.\n');
      expect(await client.skills.push(source())).toMatchObject({
        version_ordinal: 2,
        labels: { production: 1 },
      });

      const to = path.join(directory, 'skills');
      expect(await client.skills.pull('changelog', { to, version: 'production' })).toBe(
        path.join(to, 'changelog'),
      );
      expect(treeOf(to)).toEqual([
        'changelog/SKILL.md',
        'changelog/scripts/empty.txt',
        'changelog/scripts/größe.py',
      ]);
      await client.skills.pull(first.skill_id, { to });
      expect(treeOf(to)).toEqual(['changelog/SKILL.md', 'changelog/scripts/größe.py']);
      expect(readFileSync(path.join(to, 'changelog/SKILL.md'), 'utf8')).toContain('Group by type.');
      expect(readFileSync(path.join(to, 'changelog/scripts/größe.py'), 'utf8')).toBe('print("a")\n');
      expect((await client.skills.versions('changelog')).items).toHaveLength(2);
      expect((await client.skills.list()).items.map(({ name }) => name)).toEqual(['changelog']);
    });

    it('replace no directory that is not a skill, and contain no links', async () => {
      write('SKILL.md', '---\nname: changelog\ndescription: D.\n---\n\nI.\n');
      await client.skills.push(source());
      const mine = path.join(directory, 'skills/changelog');
      mkdirSync(mine, { recursive: true });
      writeFileSync(path.join(mine, 'mine.txt'), 'mine');
      await expect(client.skills.pull('changelog', { to: path.join(directory, 'skills') })).rejects.toThrow(
        /is not a skill: it has no SKILL.md/,
      );
      expect(treeOf(path.join(directory, 'skills'))).toEqual(['changelog/mine.txt']);
      symlinkSync('/etc/hostname', path.join(source(), 'link'));
      await expect(client.skills.push(source())).rejects.toThrow(/link is not a regular file/);
    });

    it.each([
      ['a path above it', '../../outside.txt', /unsafe path "..\/..\/outside.txt"/],
      ['an absolute path', '/outside.txt', /unsafe path "\/outside.txt"/],
      ['a path of Windows', 'a\\..\\outside.txt', /unsafe path/],
      [
        'other content than the service lists',
        'SKILL.md',
        /SKILL.md of the skill changelog does not have the digest/,
      ],
    ])('are not written if a version has %s', async (_, file, message) => {
      write('SKILL.md', '---\nname: changelog\ndescription: D.\n---\n\nI.\n');
      await client.skills.push(source());
      const forged = async (url: unknown, init?: RequestInit): Promise<Response> => {
        const response = await fetch(url as string, init);
        if (!/versions\/latest/.test(String(url))) return response;
        const version = (await response.json()) as object;
        return Response.json({ ...version, files: [{ path: file, sha256: '0'.repeat(64), size_bytes: 1 }] });
      };
      const { client: fooled } = await newClient(shared.app, {
        apiKey: await org.token('admin'),
        workspaceId: org.workspaceId,
        fetch: forged,
      });
      const to = path.join(directory, 'skills');
      await expect(fooled.skills.pull('changelog', { to })).rejects.toThrow(message);
      expect(existsSync(to)).toBe(false);
      expect(existsSync(path.join(directory, 'outside.txt'))).toBe(false);
    });
  });

  it('files: uploads from anywhere, adds versions, and downloads', async () => {
    const local = path.join(directory, 'report.txt');
    writeFileSync(local, 'one');
    const file = await client.files.upload('report', local, { mediaType: 'text/plain' });
    expect(file).toMatchObject({ version_ordinal: 1, media_type: 'text/plain', size_bytes: 3 });
    expect(await client.files.upload('report', new TextEncoder().encode('two'))).toMatchObject({
      version_ordinal: 2,
    });
    expect(await client.files.upload('report', new Blob(['three']).stream())).toMatchObject({
      version_ordinal: 3,
    });
    expect(await (await client.files.content('report')).text()).toBe('three');
    expect(await (await client.files.content(file.file_id, { version: 1 })).text()).toBe('one');
    await client.files.download('report', local, { version: 2 });
    expect(readFileSync(local, 'utf8')).toBe('two');
    const elsewhere = path.join(directory, 'missing/report.txt');
    await expect(client.files.download('report', elsewhere)).rejects.toThrow('ENOENT');
    expect(readdirSync(directory)).toEqual(['report.txt']);
    const versions: number[] = [];
    for await (const { version_ordinal } of client.files.versions('report')) versions.push(version_ordinal);
    expect(versions).toEqual([3, 2, 1]);
    await expect(client.files.get('nothing')).rejects.toMatchObject({ status: 404, code: 'not_found' });
  });

  it('store: publishes, searches, installs and upgrades', async () => {
    const { skill_id } = await client.api.createSkill({
      body: { name: 'notes', description: 'D', instructions: 'I' },
    });
    const item = await client.store.publish(
      {
        name: 'Notes',
        category: 'skills',
        license: 'MIT',
        actions: ['install'],
        artifact: { kind: 'skill', artifact_id: skill_id },
      },
      { audience: { is_public: false }, is_listed: true, can_acquire: true },
    );
    const [found] = await client.store.search('notes', { category: 'skills' }).take(1);
    expect(found).toMatchObject({ store_item_id: item.store_item_id });
    const workspaceId = await org.newWorkspace();
    const { client: other } = await newClient(shared.app, { apiKey: await org.token('admin'), workspaceId });
    const { acquisition_id, copies } = await other.store.install(item.store_item_id);
    expect(copies).toMatchObject([{ kind: 'skill', name: 'notes' }]);
    await client.api.updateSkill({ skill_id, body: { instructions: 'II' } });
    await client.api.createPublisherItemRelease({ store_item_id: item.store_item_id, body: {} });
    expect((await other.store.installed()).items).toMatchObject([{ acquisition_id, is_upgradable: true }]);
    expect(await other.store.upgrade(acquisition_id)).toMatchObject({ is_upgradable: false });
    expect(await other.skills.get('notes')).toMatchObject({
      instructions: expect.stringContaining('II') as string,
    });
  });

  it('MCP servers: registers one, and calls its tools', async () => {
    const remote = await FakeMcpServer.start();
    try {
      remote.offer([fakeTool('greet')]);
      await client.mcpServers.register('greeter', remote.url);
      expect(await client.mcpServers.test('greeter')).toMatchObject({ ok: true });
      await client.mcpServers.refresh('greeter');
      expect((await client.mcpServers.tools('greeter')).items.map(({ name }) => name)).toEqual(['greet']);
      const result = await client.mcpServers.call('greeter', 'greet', { to: 'Ada' });
      expect(result).toMatchObject({
        isError: false,
        content: [{ type: 'text', text: 'greet {"to":"Ada"}' }],
        text: null,
      });
      remote.call = () => ({ content: [{ type: 'text', text: 'x'.repeat(200_000) }] });
      expect((await client.mcpServers.call('greeter', 'greet')).text).toBe('x'.repeat(200_000));
      remote.call = () => ({ isError: true, content: [{ type: 'text', text: 'No.' }] });
      expect(await client.mcpServers.call('greeter', 'greet')).toMatchObject({ isError: true });
      await expect(client.mcpServers.call('greeter', 'missing')).rejects.toThrow(/missing/);
      const server = {
        name: 'io.example/other',
        description: 'D',
        version: '1.0.0',
        remotes: [{ type: 'streamable-http', url: remote.url }],
      };
      await client.mcpServers.import(server);
      expect((await client.mcpServers.list({ sort: 'name' })).items.map(({ name }) => name)).toEqual([
        'greeter',
        'other',
      ]);
    } finally {
      await remote.close();
    }
  });

  it('models: asks one, whole and streamed, and shows what it cost', async () => {
    const provider = await FakeProvider.listen();
    try {
      const model = await modelOf(await org.member('admin'), org.workspaceId, provider);
      const request = { model, messages: [{ role: 'user', content: 'Hi' }] };
      provider.answer = chat('Hello');
      expect((await client.models.chat(request)).choices[0]!.message.content).toBe('Hello');
      provider.answer = chatStream(['Hel', 'lo']);
      let text = '';
      for await (const { choices } of client.models.stream(request)) text += choices[0]?.delta.content ?? '';
      expect(text).toBe('Hello');
      provider.answer = (_call, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(
          'data: {"choices": [{"index": 0, "delta": {"content": "Hel"}, "finish_reason": null}]}\n\n',
        );
        response.end();
      };
      const broken = (async () => {
        for await (const _chunk of client.models.stream(request));
      })();
      await expect(broken).rejects.toThrow(/\w/);
      expect((await client.models.list()).items.map(({ name }) => name)).toEqual([model]);
      expect((await client.models.usage({ group_by: 'model' })).items).toHaveLength(1);
    } finally {
      await provider.close();
    }
  });
});
