import { type Answer, sharedApp } from '#testing';
import { SecretBox } from '#platform/secrets';
import { SERVER_SECRET } from '../../../src/mcp-servers/servers/server.entity';
import { fullUrlOf, pointersIn, SERVERS, ServersFixture } from './servers.fixture';

const IMPORT = `${SERVERS}/import`;
const SECRET = 'tok-9a2c-not-to-be-told';

describe('a server.json of the public MCP registry', () => {
  const app = sharedApp();
  let on: ServersFixture;

  beforeAll(async () => {
    on = await ServersFixture.create(app);
  });

  let made = 0;
  /** Returns a server.json like the one in the documentation of the registry. */
  const serverJson = (remote: object = {}, more: object = {}) => ({
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: `io.github.user/weather-${(made += 1)}`,
    title: 'Weather',
    description: 'Forecasts by place.',
    version: '2.0.0',
    websiteUrl: 'https://weather.example.com',
    repository: { url: 'https://github.com/user/weather', source: 'github' },
    icons: [{ src: 'https://weather.example.com/icon.png' }],
    packages: [{ registryType: 'npm', identifier: '@user/weather', transport: { type: 'stdio' } }],
    remotes: [{ type: 'streamable-http', url: 'https://weather.example.com/mcp', ...remote }],
    ...more,
  });
  const imported = (server: object, body: object = {}): Promise<Answer> =>
    on.editor.post(IMPORT, { workspace_id: on.org.workspaceId, server, ...body });
  const secretOf = async ({ body }: Answer): Promise<string | null> => {
    const [row] = await app.database.query<{ auth_secret: string | null }>(
      'SELECT auth_secret FROM mcp_servers WHERE server_id = $1',
      [body.server_id],
    );
    const sealed = row!.auth_secret;
    return sealed === null
      ? null
      : app.get(SecretBox).open(sealed, SERVER_SECRET.of(body.server_id as string));
  };
  const apiKey = { name: 'X-API-Key', description: 'Your key', isRequired: true, isSecret: true };
  const bearer = {
    name: 'Authorization',
    value: 'Bearer {token}',
    isRequired: true,
    isSecret: true,
    variables: { token: { description: 'A token', isRequired: true, isSecret: true } },
  };

  const undeclared = {
    name: 'Authorization',
    value: 'Bearer {smithery_api_key}',
    isRequired: true,
    isSecret: true,
  };

  it('registers its first remote under its own name, with its origin', async () => {
    const server = serverJson();
    const answer = await imported(server);
    expect([answer.status, answer.headers.get('location')]).toEqual([
      201,
      `${SERVERS}/${answer.body.server_id}`,
    ]);
    expect(answer.body).toMatchObject({
      workspace_id: on.org.workspaceId,
      name: server.name.split('/')[1],
      description: 'Forecasts by place.',
      url: 'https://weather.example.com/mcp',
      transport: 'streamable_http',
      auth: { type: 'none', has_value: false },
      is_system: false,
      metadata: {
        mcp_registry: {
          name: server.name,
          version: '2.0.0',
          title: 'Weather',
          websiteUrl: 'https://weather.example.com',
          repository: { url: 'https://github.com/user/weather', source: 'github' },
        },
      },
    });
    expect((await on.editor.get(answer.headers.get('location')!)).body).toEqual(answer.body);
  });

  it('is accepted as an item of the registry, with error pointers into the item', async () => {
    const server = serverJson();
    const listed = { server, _meta: { 'io.modelcontextprotocol.registry/official': { isLatest: true } } };
    expect((await imported(listed)).body.metadata.mcp_registry.name).toBe(server.name);
    const answer = await imported({ server: serverJson({ url: 'ftp://weather.example.com' }) });
    expect([answer.status, pointersIn(answer)]).toEqual([400, ['/server/server/remotes/0/url']]);
  });

  it('registers the remote and the name that the body chooses', async () => {
    const remotes = [
      { type: 'streamable-http', url: 'https://weather.example.com/mcp', headers: [apiKey] },
      { type: 'sse', url: 'https://weather.example.com/sse' },
    ];
    const answer = await imported(serverJson({}, { remotes }), { remote: 1, name: 'the weather' });
    expect(answer.body).toMatchObject({
      name: 'the weather',
      url: 'https://weather.example.com/sse',
      transport: 'sse',
    });
    const again = await imported(serverJson(), { name: 'the weather' });
    expect([again.status, again.body.detail]).toEqual([409, expect.stringContaining(answer.body.server_id)]);
  });

  it('suggests another name in the 409 for a name that is taken', async () => {
    const server = serverJson();
    const { body } = await imported(server);
    const again = await imported(server);
    expect([again.status, again.body.detail]).toEqual([
      409,
      expect.stringMatching(new RegExp(`${body.server_id}.*Choose another name with \`name\``)),
    ]);
    const chosen = await imported(server, { name: body.name });
    expect([chosen.status, chosen.body.detail]).toEqual([
      409,
      expect.not.stringContaining('Choose another') as string,
    ]);
  });

  describe('with a header that requires a secret', () => {
    it.each([
      [apiKey, { auth: { value: SECRET } }, { type: 'header', header: 'X-API-Key' }],
      [apiKey, { auth: { type: 'header', header: 'x-api-key', value: SECRET } }, { header: 'x-api-key' }],
      [bearer, { auth: { value: SECRET } }, { type: 'bearer', header: null }],
      [bearer, { variables: { token: SECRET } }, { type: 'bearer', header: null }],
      [bearer, { auth: { type: 'bearer', value: SECRET } }, { type: 'bearer', header: null }],
      // like most items of the public registry: the variable is not declared
      [undeclared, { auth: { value: SECRET } }, { type: 'bearer', header: null }],
      [undeclared, { variables: { smithery_api_key: SECRET } }, { type: 'bearer', header: null }],
      [undeclared, { variables: { smithery_api_key: `bearer ${SECRET}` } }, { type: 'bearer', header: null }],
      [{ ...apiKey, default: SECRET, choices: [SECRET] }, {}, { type: 'header', header: 'X-API-Key' }],
      [{ ...apiKey, value: '{key}' }, { auth: { value: SECRET } }, { type: 'header', header: 'X-API-Key' }],
      // the value may contain the scheme or not
      [bearer, { auth: { value: `Bearer ${SECRET}` } }, { type: 'bearer', header: null }],
      [{ ...apiKey, name: 'Authorization' }, { auth: { value: `Bearer ${SECRET}` } }, { type: 'bearer' }],
      [{ ...apiKey, name: 'Authorization' }, { auth: { value: SECRET } }, { type: 'bearer' }],
      [
        { ...apiKey, isRequired: false },
        { auth: { value: SECRET } },
        { type: 'header', header: 'X-API-Key' },
      ],
    ])('stores the value from the body: %#', async (header, body, auth) => {
      const answer = await imported(serverJson({ headers: [header] }), body);
      expect([answer.status, answer.body.auth]).toEqual([
        201,
        expect.objectContaining({ ...auth, has_value: true }),
      ]);
      expect(await secretOf(answer)).toBe(SECRET);
      expect(JSON.stringify(answer.body)).not.toContain(SECRET);
    });

    it.each([
      [{ headers: [apiKey] }, {}, '/auth/value', 'X-API-Key (Your key)'],
      [{ headers: [bearer] }, {}, '/variables/token', 'Authorization (A token)'],
      [{ headers: [undeclared] }, {}, '/variables/smithery_api_key', 'header Authorization'],
      [
        { headers: [{ ...apiKey, choices: ['eu', 'us'] }] },
        { auth: { value: 'moon' } },
        '/auth/value',
        'must be one of eu, us',
      ],
      [
        { headers: [{ ...apiKey, choices: ['eu', 'us'], default: 'moon' }] },
        {},
        '/server/remotes/0/headers/0/default',
        'must be one of eu, us',
      ],
      [
        { headers: [{ ...bearer, variables: { token: { choices: ['eu', 'us'] } } }] },
        { auth: { value: 'moon' } },
        '/auth/value',
        'must be one of eu, us',
      ],
      [{ headers: [bearer] }, { variables: { token: 'a\nb' } }, '/variables/token', 'visible ASCII'],
      [
        { headers: [{ ...apiKey, value: '{user}:{key}' }] },
        { auth: { value: SECRET } },
        '/variables/user',
        'is required by the header X-API-Key',
      ],
      [{}, { auth: { token_url: SECRET } }, '/auth/token_url', 'is only allowed with `type`'],
      [{}, { auth: { client_id: SECRET } }, '/auth/client_id', 'is only allowed with `type`'],
      [{}, { auth: { client_secret: SECRET } }, '/auth/client_secret', 'is only allowed with `type`'],
      [{}, { auth: { scope: SECRET } }, '/auth/scope', 'is only allowed with `type`'],
      [
        { headers: [{ ...bearer, variables: { token: 7 } }] },
        { auth: { value: SECRET } },
        '/server/remotes/0/headers/0/variables/token',
        'must be an object',
      ],
      [
        { headers: [{ ...bearer, variables: { 'a/b': { description: 7 } } }] },
        { auth: { value: SECRET } },
        '/server/remotes/0/headers/0/variables/a~1b/description',
        'must be a string',
      ],
      [{ headers: [apiKey] }, { auth: { type: 'bearer', value: SECRET } }, '/auth', 'X-API-Key'],
      [
        { headers: [apiKey, bearer] },
        { auth: { value: SECRET } },
        '/server/remotes/0/headers',
        'only send one',
      ],
      [{ headers: [apiKey] }, { auth: { value: `${SECRET}\r\nX: 1` } }, '/auth/value', 'visible ASCII'],
      [
        { headers: [{ ...apiKey, name: 'Host' }] },
        { auth: { value: SECRET } },
        '/server/remotes/0/headers/0/name',
        'transport',
      ],
      [{}, { auth: { value: SECRET } }, '/auth/value', 'requires a `type`'],
      [{}, { auth: { header: 'X-Other' } }, '/auth/header', 'does not declare this header'],
      [{ headers: [apiKey] }, { auth: { header: 'X-Other' } }, '/auth/header', 'must be X-API-Key'],
      [
        { headers: [apiKey] },
        { auth: { header: 'X-Other', value: SECRET } },
        '/auth/header',
        'must be X-API-Key',
      ],
      [
        { headers: [{ ...apiKey, isRequired: false }] },
        { auth: { header: 'x-api-key' } },
        '/auth/value',
        'X-API-Key (Your key)',
      ],
      [
        { headers: [{ name: 'X-Region', value: 'eu' }] },
        { auth: { value: SECRET } },
        '/auth/value',
        'X-Region',
      ],
    ])('reports what is missing or invalid: %#', async (remote, body, pointer, detail) => {
      const { status, body: problem } = await imported(serverJson(remote), body);
      expect([status, problem.errors[0]]).toEqual([
        400,
        { pointer, detail: expect.stringContaining(detail) as string },
      ]);
      expect(JSON.stringify(problem)).not.toContain(SECRET);
    });
  });

  describe('with variables in its URL', () => {
    const templated = (variables?: object, url = 'https://{tenant}.example.com/{region}/mcp') =>
      serverJson({ url, ...(variables && { variables }) });
    const TENANT = { tenant: { description: 'Your tenant', isRequired: true } };
    const REGION = { region: { default: 'eu', choices: ['eu', 'us'] } };

    it('uses the values of the body, or the defaults', async () => {
      const chosen = await imported(templated({ ...TENANT, ...REGION }), {
        variables: { tenant: 'acme', region: 'us' },
      });
      expect([chosen.status, chosen.body.url]).toEqual([201, 'https://acme.example.com/us/mcp']);
      const defaulted = await imported(templated({ ...TENANT, ...REGION }), {
        variables: { tenant: 'acme' },
      });
      expect(defaulted.body.url).toBe('https://acme.example.com/eu/mcp');
    });

    it.each([
      [{ ...TENANT, ...REGION }, {}, ['/variables/tenant']],
      [{}, { tenant: 'a' }, ['/variables/region']],
      [{ ...TENANT, ...REGION }, { tenant: 'a', region: 'moon' }, ['/variables/region']],
      [{ ...TENANT, ...REGION }, { tenant: 'a', tenent: 'b' }, ['/variables/tenent']],
      [{ ...TENANT, ...REGION }, { tenant: 'a', region: 7 }, ['/variables/region']],
      [{ ...TENANT, ...REGION }, { tenant: 'user:password@evil' }, ['/variables/tenant']],
      [{ ...TENANT }, { tenant: 'a', region: '..' }, ['/variables/region']],
      [{ ...TENANT, ...REGION }, { tenant: 'a.b/c' }, ['/variables/tenant']],
      [{ ...TENANT, ...REGION }, { tenant: 'a..b' }, ['/variables/tenant']],
      // only the last part of a host name has a port
      [{ ...TENANT, ...REGION }, { tenant: 'a:80' }, ['/variables/tenant']],
      [{ tenant: { isSecret: true }, ...REGION }, { tenant: 'a' }, ['/server/remotes/0/url']],
      [{ tenant: { isSecret: 'true' }, ...REGION }, { tenant: 'a' }, ['/server/remotes/0/url']],
    ])('reports the variable that is missing or invalid: %#', async (declared, variables, pointers) => {
      const answer = await imported(templated(declared), { variables });
      expect([answer.status, pointersIn(answer)]).toEqual([400, pointers]);
    });

    it.each([{ variables: { key: { isSecret: true } } }, { isSecret: true }])(
      'rejects a secret of a header before its query: %j',
      async (declared) => {
        const header = { name: 'X-API-Key', value: '{key}', ...declared };
        const server = serverJson({ url: 'https://weather.example.com/{key}', headers: [header] });
        const answer = await imported(server, { variables: { key: SECRET } });
        expect([answer.status, pointersIn(answer)]).toEqual([400, ['/server/remotes/0/url']]);
        expect(JSON.stringify(answer.body)).not.toContain(SECRET);
      },
    );

    it('encodes their values, so that they cannot change the rest of the URL', async () => {
      const url = 'https://weather.example.com/{place}/mcp?key={key}';
      const answer = await imported(templated({}, url), {
        variables: { place: '../a?b=c#d', key: 'a&b=c+d% e' },
      });
      expect(await fullUrlOf(app, answer.body)).toBe(
        'https://weather.example.com/..%2Fa%3Fb%3Dc%23d/mcp?key=a%26b%3Dc%2Bd%25%20e',
      );
    });

    it.each([
      ['{base}/mcp', { base: 'https://weather.example.com/v1' }, 'https://weather.example.com/v1/mcp'],
      ['{base}/mcp', { base: 'https://weather.example.com?x=1' }, '/variables/base'],
      ['{base}/mcp', { base: 'ftp://weather.example.com' }, '/variables/base'],
      ['{scheme}://{host}/mcp', { scheme: 'http', host: 'example.com:8080' }, 'http://example.com:8080/mcp'],
      ['{scheme}://{host}/mcp', { scheme: 'https://evil/x', host: 'a' }, '/variables/scheme'],
      ['https://example.com:{port}/mcp', { port: '8443' }, 'https://example.com:8443/mcp'],
      ['https://example.com:{port}/mcp', { port: '99999' }, '/variables/port'],
      ['https://example.com/mcp?{query}', { query: 'a=b&c={d}' }, 'https://example.com/mcp?a=b&c={d}'],
      ['https://example.com/mcp?{query}', { query: 'a=b#c' }, '/variables/query'],
      ['https://example.com/mcp?dir={dir}', { dir: '..' }, 'https://example.com/mcp?dir=..'],
      ['https://example.com/{dir}/mcp', { dir: '%2e%2e' }, 'https://example.com/%252e%252e/mcp'],
      ['https://example.com/{dir}/mcp', { dir: '\ud800' }, '/variables/dir'],
      ['ftp://{host}/mcp', { host: 'example.com' }, '/server/remotes/0/url'],
    ])('accepts or rejects values in any part of the URL: %s with %j', async (url, variables, expected) => {
      const answer = await imported(templated({}, url), { variables });
      const outcome = answer.status === 201 ? await fullUrlOf(app, answer.body) : pointersIn(answer).join();
      expect(outcome).toBe(expected);
    });

    it.each([
      // the template, the URL that the service returns, and the URL that it uses
      ['?key={API_KEY}', '?key={API_KEY}', '?key=k9-secret'],
      ['?key={API_KEY}&mode={mode}', '?key={API_KEY}&mode={mode}', '?key=k9-secret&mode=fast'],
      [
        '?key=v-{API_KEY}&again={API_KEY}',
        '?key=v-{API_KEY}&again={API_KEY}',
        '?key=v-k9-secret&again=k9-secret',
      ],
      ['?v=2&key={API_KEY}&w=3&x', '?{query}&key={API_KEY}&{query_2}', '?v=2&key=k9-secret&w=3&x'],
      ['?{API_KEY}', '?{API_KEY}', '?k9-secret'],
      ['?token=literal', '?{query}', '?token=literal'],
      ['?', '', ''],
    ])('shows the template of its query and no value: %s', async (query, shown, used) => {
      const base = 'https://weather.example.com/mcp';
      const declared = { API_KEY: { isRequired: true, isSecret: true }, mode: { choices: ['fast', 'slow'] } };
      const values = { API_KEY: 'k9-secret', mode: 'fast' };
      const variables = Object.fromEntries(
        Object.entries(values).filter(([name]) => query.includes(`{${name}}`)),
      );
      const answer = await imported(templated(declared, base + query), { variables });
      expect([answer.status, answer.body.url]).toEqual([201, base + shown]);
      expect(await fullUrlOf(app, answer.body)).toBe(base + used);
    });
  });

  it.each([
    [{ remotes: undefined }, ['/server/remotes']],
    [{ remotes: [] }, ['/server/remotes']],
    [{ remotes: [null] }, ['/server/remotes/0']],
    [{ remotes: [{ type: 'stdio', url: 'https://a.example.com' }] }, ['/server/remotes/0/type']],
    [{ remotes: [{ type: 'sse' }] }, ['/server/remotes/0/url']],
    [{ remotes: [{ type: 'sse', url: 'file:///etc/passwd' }] }, ['/server/remotes/0/url']],
    [
      { remotes: [{ type: 'sse', url: 'https://a.example.com', headers: {} }] },
      ['/server/remotes/0/headers'],
    ],
    [{ name: 'weather' }, ['/server/name']],
    [{ name: undefined, version: 1 }, ['/server/name', '/server/version']],
    [{ description: 7 }, ['/server/description']],
    [{ title: 'x'.repeat(101) }, ['/server/title']],
  ])('is rejected: %#', async (more, pointers) => {
    const answer = await imported(serverJson({}, more));
    expect([answer.status, pointersIn(answer)]).toEqual([400, pointers]);
  });

  it('is rejected with the reason if the server runs only locally', async () => {
    const { body } = await imported(serverJson({}, { remotes: undefined }));
    expect(body.errors[0].detail).toContain('has only packages');
  });

  it('is rejected if it is too large, or if the body has an unknown member', async () => {
    const large = await imported(serverJson({}, { _meta: { text: 'x'.repeat(256 * 1024) } }));
    expect([large.status, pointersIn(large)]).toEqual([400, ['/server']]);
    const unknown = await imported(serverJson(), { remotes: 1 });
    expect([unknown.status, pointersIn(unknown)]).toEqual([400, ['/remotes']]);
    const beyond = await imported(serverJson(), { remote: 1 });
    expect([beyond.status, pointersIn(beyond)]).toEqual([400, ['/remote']]);
  });

  it('can be imported only by editors of the workspace', async () => {
    const body = { workspace_id: on.org.workspaceId, server: serverJson() };
    expect((await (await on.org.member('viewer')).post(IMPORT, body)).status).toBe(403);
    const strangers = await ServersFixture.create(app);
    const answer = await strangers.editor.post(IMPORT, body);
    expect([answer.status, pointersIn(answer)]).toEqual([400, ['/workspace_id']]);
  });
});
