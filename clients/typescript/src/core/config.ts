import { ConfigurationError } from './errors.js';
import { nodeModule } from './node.js';

/** Gives the API key or token. Called before the first request, and again if the service refuses what it gave. */
export type ApiKeySource = string | (() => string | Promise<string>);

/** Where the service is, and as whom to call it. */
export interface Connection {
  url: string;
  apiKey: ApiKeySource;
  workspaceId: string | null;
}

interface Profiles {
  current?: string;
  profiles?: Record<string, { url?: string; api_key?: string; workspace_id?: string } | undefined>;
}

type Env = Record<string, string | undefined>;

const HELP =
  'Set SERVICE_URL, SERVICE_API_KEY and SERVICE_WORKSPACE_ID, or pass url, apiKey and workspaceId to `new Client()`';

/**
 * Finds the connection: in the arguments, else in the environment, else in the profile of the command line, else in the
 * bootstrap.json of a service that was started in this directory or one above it. The address and the key always come from
 * the same source, so that a key is never sent to another service's address.
 *
 * @throws {ConfigurationError} if a source is incomplete or there is none
 */
export function findConnection(given: Partial<Connection>): Connection {
  const found = givenConnection(given) ?? fromEnvironment() ?? fromProfile() ?? fromBootstrap();
  if (!found) throw new ConfigurationError(`The service's address is not configured. ${HELP}.`);
  return {
    ...found,
    url: checkedUrl(found.url),
    workspaceId: (given.workspaceId ?? found.workspaceId) || null,
  };
}

function givenConnection({ url, apiKey, workspaceId = null }: Partial<Connection>): Connection | null {
  return complete({ url, apiKey, workspaceId }, 'The arguments have', ['url', 'apiKey']);
}

function fromEnvironment(): Connection | null {
  const { SERVICE_URL, SERVICE_API_KEY, SERVICE_WORKSPACE_ID = null } = environment();
  const found = { url: SERVICE_URL, apiKey: SERVICE_API_KEY, workspaceId: SERVICE_WORKSPACE_ID };
  return complete(found, 'The environment has', ['SERVICE_URL', 'SERVICE_API_KEY']);
}

/** Returns a source's connection, or null if it has neither address nor key. */
function complete(
  found: { url?: string | undefined; apiKey?: ApiKeySource | undefined; workspaceId: string | null },
  source: string,
  [url, key]: [string, string],
): Connection | null {
  if (found.url && found.apiKey)
    return { url: found.url, apiKey: found.apiKey, workspaceId: found.workspaceId };
  if (!found.url && !found.apiKey) return null;
  const [has, lacks] = found.url ? [url, key] : [key, url];
  throw new ConfigurationError(`${source} ${has} but not ${lacks}: both must come from one source. ${HELP}.`);
}

/** Reads the profile that AGENT_REGISTRY_PROFILE names, or else the current one. */
function fromProfile(): Connection | null {
  const env = environment();
  const folder = env['XDG_CONFIG_HOME'] || (env['HOME'] && `${env['HOME']}/.config`);
  const file = folder && `${folder}/agent-registry/profiles.json`;
  const chosen = env['AGENT_REGISTRY_PROFILE'];
  const text = file ? readPrivateFile(file) : null;
  if (!file || text === null) {
    if (chosen)
      throw new ConfigurationError(`There is no profile ${chosen}, because there is no ${file ?? 'home'}.`);
    return null;
  }
  const { current, profiles } = parse<Profiles>(file, text);
  const name = chosen ?? current ?? 'default';
  const profile = profiles?.[name];
  if (!profile) {
    if (chosen) throw new ConfigurationError(`${file} has no profile ${chosen}.`);
    return null;
  }
  const found = { url: profile.url, apiKey: profile.api_key, workspaceId: profile.workspace_id ?? null };
  return complete(found, `The profile ${name} in ${file} has`, ['url', 'api_key']);
}

/** Reads the bootstrap.json that `npm start` of the service writes, and accepts only an address of this machine. */
function fromBootstrap(): Connection | null {
  const path = nodeModule('path');
  if (!path) return null;
  for (let folder = process.cwd(); ; folder = path.dirname(folder)) {
    const file = path.join(folder, '.data', 'bootstrap.json');
    const text = readPrivateFile(file);
    if (text !== null) {
      const found = parse<{ base_url?: string; api_key?: string; workspace_id?: string }>(file, text);
      if (!isLoopback(found.base_url ?? ''))
        throw new ConfigurationError(
          `${file} does not name an address of this machine, so it is not used. ${HELP}.`,
        );
      const { base_url: url, api_key: apiKey, workspace_id: workspaceId = null } = found;
      return complete({ url, apiKey, workspaceId }, `${file} has`, ['base_url', 'api_key']);
    }
    if (path.dirname(folder) === folder) return null;
  }
}

/** Reads a file with a secret, or returns null if there is none. Throws unless only this user can read and change it. */
function readPrivateFile(file: string): string | null {
  const fs = nodeModule('fs');
  if (!fs) return null;
  let descriptor: number;
  try {
    descriptor = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new ConfigurationError(`${file} cannot be read (${code}). ${HELP}.`, { cause: error });
  }
  try {
    const status = fs.fstatSync(descriptor);
    const user = process.getuid?.(); // not on Windows, which has no modes either
    const isPrivate = user === undefined || (status.uid === user && (status.mode & 0o077) === 0);
    if (!status.isFile() || !isPrivate)
      throw new ConfigurationError(
        `${file} must be a file of yours with mode 0600: run chmod 600, or delete it. ${HELP}.`,
      );
    return fs.readFileSync(descriptor, 'utf8');
  } finally {
    fs.closeSync(descriptor);
  }
}

function parse<T>(file: string, text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new ConfigurationError(`${file} is not JSON.`, { cause: error });
  }
}

function checkedUrl(text: string): string {
  if (URL.canParse(text) && (new URL(text).username || new URL(text).password))
    throw new ConfigurationError(
      "The service's address must not contain a user name or password. Pass the key as apiKey or SERVICE_API_KEY.",
    );
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new ConfigurationError(`The service's address ${text} is not an http or https URL.`);
  return text.replace(/\/+$/, '');
}

function isLoopback(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { hostname } = new URL(text);
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** Returns the environment variables, of which a browser has none. */
function environment(): Env {
  return typeof process === 'undefined' ? {} : process.env;
}
