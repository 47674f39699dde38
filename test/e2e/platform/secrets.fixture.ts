import { randomBytes } from 'node:crypto';
import { Environment } from '#platform/config';
import { Heartbeat, LiveProcessRepository } from '#platform/heartbeat';
import { KeyRotation, SealedSecretRepository } from '#platform/key-rotation';
import { InstallationSecretRepository, KeyRing, SecretBox } from '#platform/secrets';
import { type Answer, newOrganization, type TestApp, type TestOrganization } from '#testing';
import { PROVIDER_SECRET } from '../../../src/model-gateway';
import { OrgSigningService } from '../../../src/registry';
import { SEALED_COLUMNS } from '../../../src/sealed-columns';
import { Upstream } from '../api-proxy/upstream.fixture';
import { FakeMcpServer, fakeTool } from '../mcp-servers/fake-mcp-server.fixture';
import { created } from '../model-gateway/gateway.fixture';

export const newKey = (): string => randomBytes(32).toString('base64');

/** Returns the variables of a process that has these keys, newest first. */
export const withKeys = (...keys: string[]): Record<string, string> => ({
  SECRETS_KEY: '',
  SECRETS_KEYS: keys.join(),
  OUTBOUND_ALLOW: '127.0.0.0/8',
});

export const ringOf = (...keys: string[]): KeyRing =>
  new KeyRing({ SECRETS_KEY: undefined, SECRETS_KEYS: keys });

/** Returns the id of a key. */
export const idOf = (key: string): string => ringOf(key).ids[0]!;

/** Returns the stored key of a provider, decrypted. */
export async function providerKeyOf(
  app: TestApp,
  providerId: string,
  box = app.get(SecretBox),
): Promise<string> {
  const text = 'SELECT api_key FROM model_providers WHERE provider_id = $1';
  const [row] = await app.database.query<{ api_key: string }>(text, [providerId]);
  return box.open(row!.api_key, PROVIDER_SECRET.of(providerId));
}

/** Returns the ids of all keys that seal anything, column by column. */
export async function keysInUse({ database }: TestApp): Promise<Record<string, string[]>> {
  const inUse: Record<string, string[]> = {};
  for (const { table, column, sealedBy } of SEALED_COLUMNS) {
    const rows = await database.query<{ id: string }>(
      `SELECT DISTINCT ${sealedBy} AS id FROM ${table} WHERE ${sealedBy} IS NOT NULL ORDER BY 1`,
    );
    inUse[`${table}.${column}`] = rows.map(({ id }) => id);
  }
  return inUse;
}

/** Returns a rotation on the database of an app, as the command `rotate-secrets` with these keys runs it. */
export function rotationOf(app: TestApp, ...keys: string[]): KeyRotation {
  const { database } = app;
  const ring = ringOf(...keys);
  return new KeyRotation(
    ring,
    new SecretBox(ring),
    new InstallationSecretRepository(database),
    new SealedSecretRepository(app.get(Environment), database),
    new LiveProcessRepository(database),
  );
}

/** Lets processes have heartbeats, one after the other, until a promise is settled. */
export async function beatUntil<Result>(ended: Promise<Result>, ...apps: TestApp[]): Promise<Result> {
  let isOver = false;
  const over = ended.finally(() => (isOver = true)).catch(() => undefined);
  while (!isOver) {
    for (const app of apps) await app.get(Heartbeat).beat();
    await Promise.race([over, new Promise((resolve) => setTimeout(resolve, 50))]);
  }
  return ended;
}

/** An organization that uses a secret of each kind. */
export class SecretUser {
  private constructor(
    private readonly org: TestOrganization,
    private readonly upstream: Upstream,
    private readonly mcpServer: FakeMcpServer,
    private readonly key: string,
    private readonly token: string,
    private readonly paths: { provider: string; api: string; server: string },
    private secret: string,
  ) {}

  static async create(app: TestApp): Promise<SecretUser> {
    const secret = newKey();
    const org = await newOrganization(app);
    const owner = await org.member('owner');
    const upstream = await Upstream.listen();
    const mcpServer = await FakeMcpServer.start();
    mcpServer.offer([fakeTool('a')]);
    const place = { workspace_id: org.workspaceId, name: 'one' };
    const provider = created(
      await owner.post('/model/v1/providers', {
        ...place,
        kind: 'openai',
        base_url: upstream.url,
        api_key: secret,
      }),
    );
    const target = { provider_id: provider.body.provider_id as string, upstream_model: 'm' };
    created(await owner.post('/model/v1/models', { ...place, targets: [target], retries: 0 }));
    const auth = { type: 'bearer', value: secret };
    const api = created(await owner.post('/registry/v1/apis', { ...place, base_url: upstream.url, auth }));
    const url = `${mcpServer.url}?key=${encodeURIComponent(secret)}`;
    const server = created(await owner.post('/mcp/v1/servers', { ...place, url, auth }));
    created(await owner.post('/registry/v1/org/signing-keys'));
    const { key } = await org.serviceAccount('owner');
    const exchanged = await app.api().post('/registry/v1/tokens', { api_key: key });
    const user = new SecretUser(
      org,
      upstream,
      mcpServer,
      key,
      exchanged.body.access_token as string,
      {
        provider: provider.headers.get('location')!,
        api: api.headers.get('location')!,
        server: server.headers.get('location')!,
      },
      secret,
    );
    upstream.answer = (request, response) => {
      if (request.headers.authorization !== `Bearer ${user.secret}`) {
        response.writeHead(401).end();
        return;
      }
      const message = { role: 'assistant', content: 'yes' };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
    };
    mcpServer.intercept = (request, response) => {
      const isRight =
        request.headers.authorization === `Bearer ${user.secret}` &&
        new URL(request.url!, url).searchParams.get('key') === user.secret;
      if (!isRight) response.writeHead(401).end();
      return !isRight;
    };
    return user;
  }

  /** Uses each secret through a process. Returns what failed. */
  async failures(app: TestApp): Promise<unknown[]> {
    const client = app.api(this.key);
    const answers = [
      await client.get('/registry/v1/me'),
      await app.api(this.token).get('/registry/v1/me'),
      await app.api().post('/registry/v1/tokens', { api_key: this.key }),
      await client.post('/model/v1/chat/completions', {
        model: 'one',
        messages: [{ role: 'user', content: newKey() }],
      }),
      await client.get(`${this.paths.api.replace('/registry/', '/api/')}/x`),
    ];
    const failed: unknown[] = answers
      .filter(({ status }) => status !== 200)
      .map(({ body }) => body as object);
    const tested = await client.post(`${this.paths.server}/test`);
    if (tested.body.ok !== true) failed.push(tested.body);
    if ((await app.get(OrgSigningService).sign(this.org.scope, {}, 'test')) === null) failed.push('unsigned');
    return failed;
  }

  /** Stores another secret everywhere, through a process. */
  async change(app: TestApp): Promise<void> {
    const client = app.api(this.key);
    this.secret = newKey();
    const auth = { type: 'bearer', value: this.secret };
    const url = `${this.mcpServer.url}?key=${encodeURIComponent(this.secret)}`;
    const answers = [
      await client.patch(this.paths.provider, { api_key: this.secret }),
      await client.patch(this.paths.api, { auth }),
      await client.patch(this.paths.server, { url, auth }),
    ];
    const failed = answers.find(({ status }) => status !== 200);
    if (failed) throw new Error(JSON.stringify(failed.body));
  }

  /** Creates a provider through a process. @returns its id */
  async provider(app: TestApp, name: string, api_key: string): Promise<string> {
    return created(await this.tryProvider(app, name, api_key)).body.provider_id as string;
  }

  tryProvider(app: TestApp, name: string, api_key: string): Promise<Answer> {
    const { workspaceId: workspace_id } = this.org;
    return app.api(this.key).post('/model/v1/providers', { workspace_id, name, kind: 'openai', api_key });
  }

  async changeProvider(app: TestApp, providerId: string, api_key: string): Promise<void> {
    const { status, body } = await app.api(this.key).patch(`/model/v1/providers/${providerId}`, { api_key });
    if (status !== 200) throw new Error(JSON.stringify(body));
  }

  async close(): Promise<void> {
    await this.upstream.close();
    await this.mcpServer.close();
  }
}
