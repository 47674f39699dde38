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
import { sharedJudge, type TestOrganization } from '#testing';
import { FakeMcpServer, fakeTool } from '../../e2e/mcp-servers/fake-mcp-server.fixture';
import { chat, chatStream, FakeProvider, modelOf } from '../../e2e/model-gateway/provider.fixture';
import { newClient } from './client.fixture';

describe("the client's words for agents, skills, files and the store", () => {
  const shared = sharedJudge();
  let client: Client;
  let org: TestOrganization;
  let directory: string;

  beforeEach(async () => {
    ({ client, org } = await newClient(shared.app));
    directory = mkdtempSync(path.join(os.tmpdir(), 'resources-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

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
