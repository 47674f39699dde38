import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client, type ClientOptions } from '#client';

const VARIABLES = ['SERVICE_URL', 'SERVICE_API_KEY', 'SERVICE_WORKSPACE_ID', 'AGENT_REGISTRY_PROFILE'];
const BOOTSTRAP = { base_url: 'http://localhost:8080', api_key: 'boot-key', workspace_id: 'wsp_boot' };

describe('the configuration of a client', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(path.join(os.tmpdir(), 'client-'));
    process.chdir(directory);
    for (const name of VARIABLES) delete process.env[name];
    process.env.XDG_CONFIG_HOME = path.join(directory, 'config');
  });
  afterEach(() => {
    process.chdir(os.tmpdir());
    rmSync(directory, { recursive: true });
  });

  const write = (file: string, content: unknown, mode = 0o600): string => {
    const full = path.join(directory, file);
    mkdirSync(path.dirname(full), { recursive: true });
    writeFileSync(full, typeof content === 'string' ? content : JSON.stringify(content));
    chmodSync(full, mode);
    return full;
  };
  const writeProfiles = (content: unknown, mode?: number): string =>
    write('config/agent-registry/profiles.json', content, mode);
  const writeBootstrap = (content: unknown = BOOTSTRAP, mode?: number): string =>
    write('.data/bootstrap.json', content, mode);
  const profiles = {
    current: 'work',
    profiles: {
      work: { url: 'https://work.example', api_key: 'work-key', workspace_id: 'wsp_work' },
      home: { url: 'https://home.example/', api_key: 'home-key' },
    },
  };

  /** Returns address, key and workspace of a client: what its first request has. */
  async function connectionOf(options: ClientOptions = {}): Promise<unknown> {
    let sent: unknown;
    const fetch = (url: unknown, init?: RequestInit): Promise<Response> => {
      const { authorization } = init!.headers as Record<string, string>;
      sent = [url, authorization];
      return Promise.resolve(Response.json({}));
    };
    const client = new Client({ ...options, fetch });
    await client.api.getMe();
    const { url, workspaceId } = client;
    expect(sent).toEqual([`${url}/registry/v1/me`, expect.any(String)]);
    return [url, (sent as string[])[1]!.replace('Bearer ', ''), workspaceId];
  }
  const errorOf = (options: ClientOptions = {}): string => {
    try {
      return `none: ${new Client(options).url}`;
    } catch (error) {
      return `${(error as Error).name}: ${(error as Error).message}`;
    }
  };

  it('comes from the arguments, else the environment, else the profile, else the bootstrap.json', async () => {
    expect(errorOf()).toMatch(
      /^ConfigurationError: The service's address is not configured. Set SERVICE_URL, SERVICE_API_KEY and SERVICE_WORKSPACE_ID/,
    );
    writeBootstrap();
    expect(await connectionOf()).toEqual(['http://localhost:8080', 'boot-key', 'wsp_boot']);
    mkdirSync('below/below', { recursive: true });
    process.chdir('below/below');
    expect(await connectionOf()).toEqual(['http://localhost:8080', 'boot-key', 'wsp_boot']);
    writeProfiles(profiles);
    expect(await connectionOf()).toEqual(['https://work.example', 'work-key', 'wsp_work']);
    process.env.AGENT_REGISTRY_PROFILE = 'home';
    expect(await connectionOf()).toEqual(['https://home.example', 'home-key', null]);
    Object.assign(process.env, { SERVICE_URL: 'http://env.example', SERVICE_API_KEY: 'env-key' });
    expect(await connectionOf()).toEqual(['http://env.example', 'env-key', null]);
    process.env.SERVICE_WORKSPACE_ID = 'wsp_env';
    expect(await connectionOf()).toEqual(['http://env.example', 'env-key', 'wsp_env']);
    expect(await connectionOf({ workspaceId: 'wsp_arg' })).toEqual([
      'http://env.example',
      'env-key',
      'wsp_arg',
    ]);
    const options = { url: 'http://arg.example', apiKey: () => 'arg-key' };
    expect(await connectionOf(options)).toEqual(['http://arg.example', 'arg-key', null]);
  });

  it.each<[string, ClientOptions, Record<string, string>, RegExp]>([
    ['an argument', { url: 'http://arg.example' }, {}, /The arguments have url but not apiKey/],
    ['an argument', { apiKey: 'key' }, {}, /The arguments have apiKey but not url/],
    ['a variable', {}, { SERVICE_URL: 'http://env.example' }, /has SERVICE_URL but not SERVICE_API_KEY/],
    ['a variable', {}, { SERVICE_API_KEY: 'env-key' }, /has SERVICE_API_KEY but not SERVICE_URL/],
  ])('never mixes the address or key of %s with those of another source', (_, options, env, message) => {
    writeProfiles(profiles);
    writeBootstrap();
    Object.assign(process.env, env);
    expect(errorOf(options)).toMatch(message);
  });

  it('refuses profiles that others can read, and names that are not there', () => {
    process.env.AGENT_REGISTRY_PROFILE = 'other';
    expect(errorOf()).toContain('There is no profile other, because there is no ');
    writeProfiles(profiles);
    expect(errorOf()).toMatch(/profiles\.json has no profile other\.$/);
    delete process.env.AGENT_REGISTRY_PROFILE;
    writeProfiles({ profiles: { default: { url: 'https://a.example' } } });
    expect(errorOf()).toMatch(/The profile default in .* has url but not api_key/);
    writeProfiles('{');
    expect(errorOf()).toMatch(/profiles\.json is not JSON/);
    writeProfiles(profiles, 0o640);
    expect(errorOf()).toMatch(/profiles\.json must be a file of yours with mode 0600: run chmod 600/);
  });

  it('refuses a bootstrap.json that others can read, that is a link, or that names another machine', () => {
    writeBootstrap(BOOTSTRAP, 0o644);
    expect(errorOf()).toMatch(/bootstrap\.json must be a file of yours with mode 0600/);
    for (const base_url of [
      'http://registry.example',
      'http://10.0.0.1:8080',
      'http://localhost.example',
      'x',
    ]) {
      writeBootstrap({ ...BOOTSTRAP, base_url });
      expect(errorOf()).toMatch(/bootstrap\.json does not name an address of this machine/);
    }
    for (const base_url of ['http://127.0.0.1:1', 'http://[::1]:1', 'http://localhost:1']) {
      writeBootstrap({ ...BOOTSTRAP, base_url });
      expect(errorOf()).toBe(`none: ${base_url}`);
    }
    const file = writeBootstrap();
    rmSync(file);
    symlinkSync(write('elsewhere.json', BOOTSTRAP), file);
    expect(errorOf()).toMatch(/bootstrap\.json cannot be read \(ELOOP\)/);
    rmSync(file);
    mkdirSync(file);
    expect(errorOf()).toMatch(/bootstrap\.json must be a file of yours/);
  });

  (process.getuid?.() === 0 ? it : it.failing)('refuses a bootstrap.json of another user', () => {
    chownSync(writeBootstrap(), 12_345, 12_345); // fails unless the test runs as root
    expect(errorOf()).toMatch(/bootstrap\.json must be a file of yours/);
  });

  it('must name an http or https URL without a password, which is not repeated', () => {
    const error = errorOf({ url: 'https://ada:hidden@registry.example', apiKey: 'key' });
    expect(error).toMatch(/must not contain a user name or password/);
    expect(error).not.toContain('hidden');
    for (const url of ['registry.example', 'ftp://registry.example', 'http://']) {
      expect(errorOf({ url, apiKey: 'key' })).toMatch(/is not an http or https URL/);
    }
    expect(errorOf({ url: 'https://registry.example/base//', apiKey: 'key' })).toBe(
      'none: https://registry.example/base',
    );
  });
});
