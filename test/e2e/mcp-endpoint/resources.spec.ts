import { sharedApp, newOrganization, type TestOrganization } from '#testing';
import { CLIENT_MODES, connect, type TestMcpClient } from './clients.fixture';
import { FIELDS, populate, type Population } from './population.fixture';

/** Skills and files as resources, and the extension for skills (SEP-2640). */
describe('the resources of the MCP endpoint', () => {
  const app = sharedApp();
  let has: Population;
  let client: TestMcpClient;
  let skill: string;

  beforeAll(async () => {
    has = await populate(app);
    client = await connect(app.url, await has.org.token('viewer'));
    skill = `skill://${has.skillId}/pdf-forms`;
  });
  afterAll(async () => {
    await client.close();
  });

  const all = async (): Promise<any[]> => {
    const resources: any[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.listResources(cursor === undefined ? {} : { cursor });
      resources.push(...page.resources);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return resources;
  };

  it.each(CLIENT_MODES)('are read with their media types (client %s)', async (mode) => {
    const modeClient = await connect(app.url, await has.org.token('viewer'), mode);
    const read = async (uri: string) => (await modeClient.readResource({ uri })).contents;
    expect(await read(`${skill}/references/fields.md`)).toEqual([
      { uri: `${skill}/references/fields.md`, mimeType: 'text/markdown', text: FIELDS },
    ]);
    expect(await read(`${skill}/logo.png`)).toEqual([
      {
        uri: `${skill}/logo.png`,
        mimeType: 'image/png',
        blob: Buffer.from([0x89, 0x50, 0, 0xff]).toString('base64'),
      },
    ]);
    expect(await read(`registry://files/${has.fileId}`)).toEqual([
      { uri: `registry://files/${has.fileId}`, mimeType: 'text/csv', text: 'a,b\n1,2\n' },
    ]);
    await modeClient.close();
  });

  it.each(CLIENT_MODES)('return an error with their URI if they do not exist (client %s)', async (mode) => {
    const modeClient = await connect(app.url, await has.org.token('viewer'), mode);
    for (const uri of [
      `${skill}/missing.md`,
      `${skill}/../pdf-forms/SKILL.md`,
      `skill://${has.skillId}/other-name/SKILL.md`,
      'skill://skl_01jq0000000000000000000000/x/SKILL.md',
      'skill://%E0%A4%A/x/SKILL.md',
      'skill://',
      'registry://files/file_x',
      'registry://files/',
      'registry://files/../secrets',
      'file:///etc/passwd',
      'https://example.com/',
      'a%00b',
    ]) {
      await expect(modeClient.readResource({ uri })).rejects.toMatchObject({ code: -32602, data: { uri } });
    }
    await modeClient.close();
  });

  it('are listed, skills first', async () => {
    expect(await all()).toEqual([
      {
        uri: `${skill}/SKILL.md`,
        name: 'pdf-forms',
        description: 'Fills PDF forms.',
        mimeType: 'text/markdown',
      },
      {
        uri: `registry://files/${has.fileId}`,
        name: 'table.csv',
        mimeType: 'text/csv',
        size: 8,
        annotations: { lastModified: expect.any(String) },
      },
    ]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }: any) => uriTemplate)).toEqual([
      'skill://{skill_id}/{name}/{+path}',
      'registry://files/{file_id}',
    ]);
  });

  it('are paged, and each is listed once', async () => {
    const org = await newOrganization(app);
    const editor = await org.as('editor');
    const body = { workspace_id: org.workspaceId, description: 'x', instructions: 'x' };
    for (let i = 0; i < 45; i++) await editor.post('/skill/v1/skills', { ...body, name: `skill-${i}` });
    // the current client follows pages by itself
    const other = await connect(app.url, await org.token('viewer'), 'v1');
    const names: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await other.listResources(cursor === undefined ? {} : { cursor });
      names.push(...page.resources.map(({ name }: any) => name));
      cursor = page.nextCursor;
      pages += 1;
    } while (cursor !== undefined);
    expect([names.length, new Set(names).size, pages]).toEqual([45, 45, 4]);
    await other.close();
  });

  it.each(['x', 'c2tpbGxzIHg', 'ZXZpbCA'])('reject the cursor %s', async (cursor) => {
    await expect(client.listResources({ cursor })).rejects.toMatchObject({ code: -32602 });
  });

  it('are neither listed nor read if they are archived', async () => {
    const org = await newOrganization(app);
    const admin = await org.as('admin');
    const body = { workspace_id: org.workspaceId, name: 'gone', description: 'x', instructions: 'x' };
    const { skill_id } = (await admin.post('/skill/v1/skills', body)).body;
    const path = `/file/v1/files?workspace_id=${org.workspaceId}&name=gone.txt`;
    const { file_id } = (await admin.post(path, 'x', { 'content-type': 'text/plain' })).body;
    await admin.post(`/skill/v1/skills/${skill_id}/archive`);
    await admin.post(`/file/v1/files/${file_id}/archive`);
    const reader = await connect(app.url, await org.token('viewer'));
    expect(await reader.listResources({})).toMatchObject({ resources: [] });
    for (const uri of [`skill://${skill_id}/gone/SKILL.md`, `registry://files/${file_id}`]) {
      await expect(reader.readResource({ uri })).rejects.toMatchObject({ code: -32602, data: { uri } });
    }
    const prompt = reader.getPrompt({ name: 'use_skill', arguments: { skill: skill_id } });
    await expect(prompt).rejects.toMatchObject({ code: -32602 });
    await reader.close();
  });

  it('are neither listed nor read for another organization, even if it uses one of their cursors', async () => {
    const org = await newOrganization(app);
    const stranger = await connect(app.url, await org.token('owner'));
    const paging = await connect(app.url, await has.org.token('viewer'), 'v1');
    const first = await paging.listResources({});
    expect(first.nextCursor).toEqual(expect.any(String));
    const { resources } = await stranger.listResources({ cursor: first.nextCursor });
    expect(resources).toEqual([]);
    for (const uri of [`${skill}/SKILL.md`, `registry://files/${has.fileId}`]) {
      await expect(stranger.readResource({ uri })).rejects.toMatchObject({ code: -32602 });
    }
    await Promise.all([stranger.close(), paging.close()]);
  });

  it('are not read if their workspace is out of reach, or not the one in the header', async () => {
    const otherWorkspace = await has.org.newWorkspace();
    const owner = (headers: Record<string, string>) =>
      has.org.token('owner').then((token) => connect(app.url, token, 'auto', headers));
    const within = await owner({ 'x-service-workspace-id': otherWorkspace });
    expect((await within.listResources({})).resources).toEqual([]);
    const uri = `${skill}/SKILL.md`;
    await expect(within.readResource({ uri })).rejects.toMatchObject({ code: -32602 });
    const home = await owner({ 'x-service-workspace-id': has.org.workspaceId });
    expect((await home.readResource({ uri })).contents).toHaveLength(1);
    const limited = await has.org.tokenOf('usr_other', {
      roles: ['viewer'],
      workspace_ids: [otherWorkspace],
    });
    const colleague = await connect(app.url, limited);
    await expect(colleague.readResource({ uri })).rejects.toMatchObject({ code: -32602 });
    for (const one of [within, home, colleague]) await one.close();
  });

  it('return an error with another way to read them if they have more than 1 MiB', async () => {
    const editor = await has.org.as('editor');
    const path = `/file/v1/files?workspace_id=${has.org.workspaceId}&name=large.txt`;
    const { body } = await editor.post(path, 'x'.repeat(1024 * 1024 + 1), { 'content-type': 'text/plain' });
    await expect(client.readResource({ uri: `registry://files/${body.file_id}` })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('read_file') as string,
    });
  });

  describe('with the extension for skills', () => {
    const request = (method: string, params: object): Promise<any> => requestIn(has.org, method, params);
    const requestIn = async (org: TestOrganization, method: string, params: object): Promise<any> => {
      const member = app.api(await org.token('viewer'));
      const { body } = await member.post('/mcp', { jsonrpc: '2.0', id: 1, method, params });
      if (body.error) throw Object.assign(new Error(body.error.message), body.error);
      return body.result;
    };
    const entry = () => ({
      uri: `${skill}/SKILL.md`,
      frontmatter: { name: 'pdf-forms', description: 'Fills PDF forms.' },
      resources: ['SKILL.md', 'logo.png', 'references/fields.md'].map((path) => ({
        uri: `${skill}/${path}`,
        digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
        size: expect.any(Number) as number,
      })),
    });

    it('declare the extension', () => {
      expect(client.getServerCapabilities()).toMatchObject({
        extensions: { 'io.modelcontextprotocol/skills': { directoryRead: true } },
      });
    });

    it('list skills with their frontmatter and the digests of their files', async () => {
      expect(await request('skills/list', {})).toEqual({ skills: [entry()] });
      expect(await request('skills/get', { uri: `${skill}/SKILL.md` })).toEqual({ skill: entry() });
    });

    it('omit the digests of a skill with more than 512 files, but not those of other skills on the page', async () => {
      const org = await newOrganization(app);
      const editor = await org.as('editor');
      const add = async (name: string, count: number): Promise<void> => {
        const files = Array.from({ length: count }, (_, i) => ({
          path: `${i}.md`,
          content: 'x',
          encoding: 'utf-8',
        }));
        const body = { workspace_id: org.workspaceId, name, description: 'x', instructions: 'x', files };
        expect((await editor.post('/skill/v1/skills', body)).status).toBe(201);
      };
      await add('many', 512);
      await add('few', 511);
      const member = app.api(await org.token('viewer'));
      const { body } = await member.post('/mcp', {
        jsonrpc: '2.0',
        id: 1,
        method: 'skills/list',
        params: {},
      });
      const listed = body.result.skills.map(({ frontmatter, resources }: any) => [
        frontmatter.name,
        Array.isArray(resources) ? resources.length : resources,
      ]);
      expect(listed).toEqual([
        ['few', 512],
        ['many', 'dynamic'],
      ]);
    });

    const addMarkdown = async (org: TestOrganization, name: string, members: string): Promise<string> => {
      const markdown = `---\nname: ${name}\ndescription: x\n${members}\n---\nBody`;
      const form = new FormData();
      form.set('workspace_id', org.workspaceId);
      form.set('file', new File([markdown], `${name}/SKILL.md`));
      const made = await (await org.as('editor')).post('/skill/v1/skills', form);
      expect(made.status).toBe(201);
      return made.body.skill_id as string;
    };

    it.each([
      ['aliases that multiply', `x: &a [1]\ny: &b [*a, *a]\nz: [*b, *b]`],
      ['an alias of itself', 'x: &a [*a]'],
      ['a long text that is repeated', `x: &a ${'x'.repeat(60_000)}\ny: [${'*a, '.repeat(98)}*a]`],
      ['a number that JSON cannot hold', 'x: .inf'],
      ['deep nesting', `x: ${'['.repeat(65)}1${']'.repeat(65)}`],
    ])('omit a skill whose frontmatter has %s, and list the others', async (_, members) => {
      const org = await newOrganization(app);
      await addMarkdown(org, 'plain', 'x: 1');
      const id = await addMarkdown(org, 'odd', members);
      const client = await connect(app.url, await org.token('viewer'));
      const { skills } = await requestIn(org, 'skills/list', {});
      expect(skills.map(({ frontmatter }: any) => frontmatter)).toEqual([
        { name: 'plain', description: 'x', x: 1 },
      ]);
      const uri = `skill://${id}/odd/SKILL.md`;
      await expect(requestIn(org, 'skills/get', { uri })).rejects.toMatchObject({ code: -32602 });
      expect((await client.readResource({ uri })).contents[0].text).toContain('Body');
      await client.close();
    });

    it('return directories in pages, and omit long lists of files from entries', async () => {
      const org = await newOrganization(app);
      const files = Array.from({ length: 250 }, (_, i) => ({
        path: `${'long/'.repeat(60)}${String(i).padStart(3, '0')}.md`,
        content: 'x',
        encoding: 'utf-8',
      }));
      const body = {
        workspace_id: org.workspaceId,
        name: 'wide',
        description: 'x',
        instructions: 'x',
        files,
      };
      const { skill_id } = (await (await org.as('editor')).post('/skill/v1/skills', body)).body;
      const client = await connect(app.url, await org.token('viewer'));
      const { skills } = await requestIn(org, 'skills/list', {});
      expect(skills[0].resources).toBe('dynamic');
      const uri = `skill://${skill_id}/wide/${'long/'.repeat(60)}`;
      const first = await requestIn(org, 'resources/directory/read', { uri });
      const second = await requestIn(org, 'resources/directory/read', { uri, cursor: first.nextCursor });
      expect([first.resources.length, second.resources.length, second.nextCursor]).toEqual([
        200,
        50,
        undefined,
      ]);
      expect(second.resources.at(-1).name).toBe('249.md');
      await expect(requestIn(org, 'resources/directory/read', { uri, cursor: 'x' })).rejects.toMatchObject({
        code: -32602,
      });
      await client.close();
    });

    it('keep unknown members of the frontmatter', async () => {
      const editor = await has.org.as('editor');
      const markdown = '---\nname: odd\ndescription: Odd.\nlicense: MIT\nx-own: [1, {a: b}]\n---\nBody';
      const form = new FormData();
      form.set('workspace_id', has.org.workspaceId);
      form.set('file', new File([markdown], 'odd/SKILL.md'));
      const made = await editor.post('/skill/v1/skills', form);
      expect(made.status).toBe(201);
      const { skill: odd } = await request('skills/get', {
        uri: `skill://${made.body.skill_id}/odd/SKILL.md`,
      });
      expect(odd.frontmatter).toEqual({
        name: 'odd',
        description: 'Odd.',
        license: 'MIT',
        'x-own': [1, { a: 'b' }],
      });
      await (await has.org.as('admin')).post(`/skill/v1/skills/${made.body.skill_id}/archive`);
    });

    it('list the immediate children of a directory', async () => {
      expect((await request('resources/directory/read', { uri: skill })).resources).toMatchObject([
        { uri: `${skill}/SKILL.md`, name: 'SKILL.md', mimeType: 'text/markdown' },
        { uri: `${skill}/logo.png`, mimeType: 'image/png', size: 4 },
        { uri: `${skill}/references`, mimeType: 'inode/directory' },
      ]);
      const inside = await request('resources/directory/read', { uri: `${skill}/references/` });
      expect(inside.resources).toMatchObject([{ uri: `${skill}/references/fields.md` }]);
    });

    it.each([
      ['skills/get', 'skill://skl_x/x/SKILL.md'],
      ['skills/get', 'directory'],
      ['skills/get', undefined],
      ['resources/directory/read', 'SKILL.md'],
      ['resources/directory/read', 'skill://skl_x/x'],
    ])('return -32602 for %s of %s', async (method, uri) => {
      const named = uri === 'directory' ? skill : uri === 'SKILL.md' ? `${skill}/SKILL.md` : uri;
      await expect(request(method, { uri: named })).rejects.toMatchObject({ code: -32602 });
    });
  });
});
