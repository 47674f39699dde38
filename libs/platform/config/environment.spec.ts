import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Environment, ENVIRONMENT_VARIABLES, readEnvironment } from '#platform/config';
import { StartError } from '#platform/process';

/** Parses `.env.example`: the variables that it sets, and all that it mentions. */
function example(): { set: Record<string, string>; mentioned: string[] } {
  const text = readFileSync(path.resolve('.env.example'), 'utf8');
  const set: Record<string, string> = {};
  const mentioned: string[] = [];
  for (const line of text.split('\n')) {
    const match = /^(# )?([A-Z][A-Z0-9_]*)=(.*)$/.exec(line);
    if (!match) continue;
    mentioned.push(match[2]!);
    if (!match[1]) set[match[2]!] = match[3]!;
  }
  return { set, mentioned };
}

describe('the environment', () => {
  it('has exactly the variables that .env.example mentions', () => {
    expect(example().mentioned.sort()).toEqual([...ENVIRONMENT_VARIABLES].sort());
  });

  it('has the defaults of .env.example', () => {
    expect(readEnvironment(example().set)).toEqual(readEnvironment({}));
  });

  it('reads the variables that are set', () => {
    const environment = readEnvironment({
      PORT: '0',
      AUTH_ISSUERS: '[{"issuer":"https://idp"}]',
      LOG_LEVEL: 'debug',
    });
    expect(environment).toBeInstanceOf(Environment);
    expect(environment).toMatchObject({
      PORT: 0,
      AUTH_ISSUERS: [{ issuer: 'https://idp' }],
      LOG_LEVEL: 'debug',
    });
  });

  it('treats an empty variable as unset', () => {
    expect(readEnvironment({ DATABASE_URL: '', PORT: '' }).PORT).toBe(8080);
  });

  it.each([
    ['PORT', '80x'],
    ['PORT', '70000'],
    ['DATABASE_URL', 'mysql://localhost'],
    ['REDIS_URL', 'localhost:6379'],
    ['PUBLIC_URL', 'registry'],
    ['SECRETS_KEY', 'short'],
    ['SECRETS_KEYS', `${Buffer.alloc(32).toString('base64')},short`],
    ['EMBEDDINGS_BASE_URL', 'localhost:11434'],
    ['EMBEDDINGS_DIMENSIONS', '0'],
    ['OUTBOUND_ALLOW', '10.0.0.0/33'],
    ['OUTBOUND_ALLOW', '10.0.0.0/8,intranet.example'],
    ['LOG_LEVEL', 'loud'],
    ['STORAGE_URL', 'gs://bucket'],
    ['STORAGE_URL', 's3://ab'],
    ['STORAGE_URL', 's3://ab/files?region=eu-west-1'],
    ['STORAGE_URL', `s3://${'a'.repeat(64)}`],
    ['AUTH_CACHE_SECONDS', '61'],
    ['REQUEST_TIMEOUT_MS', '-1'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['EMBEDDINGS_BASE_URL', 'http://user:password@localhost/v1'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
  ])('reports %s by its name if it is %s', (name, value) => {
    expect(() => readEnvironment({ [name]: value })).toThrow(name);
  });

  it.each([
    ['PORT', '80x', 'PORT: must be an integer from 0 to 65535.'],
    ['LOG_LEVEL', 'loud', 'LOG_LEVEL: must be one of fatal, error, warn, info, debug, trace, silent.'],
    [
      'STORAGE_URL',
      's3://ab/files',
      'STORAGE_URL: must name a bucket of 3 to 63 characters, s3://<bucket>/<prefix>, or a directory, file:///<directory>.',
    ],
    ['JUDGE_BASE_URL', 'http://localhost/v1', 'JUDGE_MODEL: is required if JUDGE_BASE_URL is set.'],
    [
      'EMBEDDINGS_MODEL',
      'm',
      'EMBEDDINGS_MODEL: must begin with gateway: if EMBEDDINGS_BASE_URL is not set.',
    ],
    ['JUDGE_MAX_TOKENS', '100000', 'JUDGE_MAX_TOKENS: must be at most half of JUDGE_CONTEXT_TOKENS.'],
  ])('states each rule once if %s is %s', (name, value, message) => {
    expect(() => readEnvironment({ [name]: value })).toThrow(new StartError(message));
  });

  it('does not accept both a key and a ring of keys for the secrets', () => {
    const key = Buffer.alloc(32).toString('base64');
    expect(() => readEnvironment({ SECRETS_KEY: key, SECRETS_KEYS: key })).toThrow(
      new StartError(
        'SECRETS_KEY: cannot be set together with SECRETS_KEYS. Move its key into SECRETS_KEYS.',
      ),
    );
  });

  it('does not accept a model of the gateway for a provider of the installation', () => {
    const env = { JUDGE_BASE_URL: 'http://localhost/v1', JUDGE_MODEL: 'gateway:m' };
    expect(() => readEnvironment(env)).toThrow(
      'JUDGE_MODEL: cannot be of the gateway if JUDGE_BASE_URL is set.',
    );
  });
});
