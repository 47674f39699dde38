import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020';
import type { OpenAPIObject } from '@nestjs/swagger';
import { escapedToken } from '#platform/json';
import { committedDocument, createTestApp, sharedApp } from '#testing';

interface Operation {
  operationId?: string;
  summary?: string;
  tags?: string[];
  security?: object[];
  requestBody?: { content: Record<string, { examples?: Record<string, { value: object }> }> };
  responses: Record<string, { content?: Record<string, { schema?: object }> }>;
}

describe('the OpenAPI document', () => {
  const app = sharedApp();
  let document: OpenAPIObject;
  let operations: [string, Operation][];

  beforeAll(async () => {
    document = (await app.api().get<OpenAPIObject>('/openapi.json')).body;
    operations = Object.entries(committedDocument().paths).flatMap(([path, methods]) =>
      Object.entries(methods as Record<string, Operation>).map(([method, operation]): [string, Operation] => [
        `${method.toUpperCase()} ${path}`,
        operation,
      ]),
    );
  });

  it('equals the committed openapi.json (npm run openapi writes it)', () => {
    expect(JSON.parse(readFileSync('openapi.json', 'utf8'))).toEqual(document);
  });

  it('is valid OpenAPI 3.1 under two independent validators', () => {
    const { status, stderr } = spawnSync(process.execPath, ['scripts/validate-openapi.mjs'], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(status).toBe(0);
  });

  it('has the specified title and version, one server and one bearer scheme', () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(document.info).toMatchObject({ title: 'public API', version: 'current' });
    expect(document.servers).toHaveLength(1);
    expect(Object.values(document.components?.securitySchemes ?? {})).toEqual([
      { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    ]);
  });

  it('gives every operation a name, a summary, a tag and typed responses', () => {
    const ids = operations.map(([, operation]) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const incomplete = operations
      .filter(([, one]) => !one.summary || !one.tags?.length)
      .map(([label]) => label);
    expect(incomplete).toEqual([]);
    const untyped = operations.flatMap(([label, { responses }]) =>
      Object.entries(responses)
        .filter(([status]) => /^2/.test(status) && status !== '204')
        .filter(([, { content }]) => !content || Object.values(content).some((media) => !media.schema))
        .map(([status]) => `${label} ${status}`),
    );
    // in the Model Context Protocol, notifications have no response
    expect(untyped).toEqual(['POST /mcp 202']);
  });

  it('has examples that match its schemas', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(document, 'document');
    const bodies = operations.flatMap(([label, { requestBody }]) =>
      Object.entries(requestBody?.content ?? {}).flatMap(([type, { examples = {} }]) =>
        Object.entries(examples).map(([name, { value }]) => ({ label, type, name, value })),
      ),
    );
    expect(bodies.length).toBeGreaterThan(10);
    for (const { label, type, name, value } of bodies) {
      const [method, path] = label.split(' ') as [string, string];
      const $ref = `document#/paths/${escapedToken(path)}/${method.toLowerCase()}/requestBody/content/${escapedToken(type)}/schema`;
      const validate = ajv.compile({ $ref });
      expect([label, name, validate(value) || validate.errors]).toEqual([label, name, true]);
    }
  });

  it('requires the bearer token except on public operations', () => {
    const open = operations.filter(([, one]) => one.security?.length === 0).map(([label]) => label);
    expect(open.sort()).toEqual([
      'GET /.well-known/jwks.json',
      'GET /.well-known/oauth-authorization-server',
      'GET /.well-known/oauth-protected-resource',
      'GET /.well-known/oauth-protected-resource/mcp',
      'GET /health/live',
      'GET /health/ready',
      'POST /registry/v1/tokens',
    ]);
  });

  it('names the configured public server', async () => {
    const public_ = await createTestApp({ env: { PUBLIC_URL: 'https://registry.example.com' } });
    try {
      const { body } = await public_.api().get<OpenAPIObject>('/openapi.json');
      expect(body.servers).toEqual([{ url: 'https://registry.example.com' }]);
    } finally {
      await public_.close();
    }
  });

  async function statusOf(file: string): Promise<number> {
    const answer = await fetch(`${app.url}${file}`);
    await answer.arrayBuffer();
    return answer.status;
  }

  it('is readable at /docs, with every file served by the service', async () => {
    const page = await fetch(`${app.url}/docs`);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    const html = await page.text();
    const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
    expect(files.length).toBeGreaterThanOrEqual(3);
    for (const file of files) {
      expect(file).toMatch(/^\/docs\//);
      expect(await statusOf(file)).toBe(200);
    }
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    const part = await fetch(`${app.url}/docs/assets/swagger-ui.css`, {
      headers: { range: 'bytes=99999999-' },
    });
    expect(part.status).toBe(200);
    const other = await fetch(`${app.url}/docs/assets/swagger-ui.css`, {
      headers: { 'if-match': '"other"' },
    });
    expect(other.status).toBe(412);
    expect(await other.json()).toMatchObject({ code: 'precondition_failed' });
    expect(await statusOf('/docs/assets/package.json')).toBe(404);
    expect(await statusOf('/docs/assets/../../package.json')).toBe(404);
  });
});
