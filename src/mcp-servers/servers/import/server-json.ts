import { isJsonObject, pointerToken } from '#platform/json';
import type { FieldError } from '#platform/problem';
import { TRANSPORTS, type Transport } from '../server.entity';

/** The `server.json` schema that this service reads and writes. */
export const SERVER_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
/** The name of a server in the public registry: a namespace and a name. */
export const REGISTRY_NAME_PATTERN = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/;

const NAME_MAX = 200;
const VERSION_MAX = 255;
export const TITLE_MAX = 100;
const TEXT_MAX = 10_000;
export const LINK_MAX = 2_048;

/** The transports, by their names in the registry. */
const TRANSPORT_OF: ReadonlyMap<unknown, Transport> = new Map(
  TRANSPORTS.map((transport) => [registryTransport(transport), transport]),
);

/** Returns the name of a transport in the registry. */
export function registryTransport(transport: Transport): 'streamable-http' | 'sse' {
  return transport === 'sse' ? 'sse' : 'streamable-http';
}

/** A value that users of the server provide. */
export interface ServerInput {
  description: string | null;
  isRequired: boolean;
  isSecret: boolean;
  /** A fixed value, with `{variables}`. */
  value: string | null;
  default: string | null;
  choices: readonly string[];
}

export interface ServerHeader extends ServerInput {
  /** The JSON pointer of the header in the body. */
  pointer: string;
  name: string;
  variables: ReadonlyMap<string, ServerInput>;
}

export interface Remote {
  transport: Transport;
  /** With `{variables}`. */
  url: string;
  headers: readonly ServerHeader[];
  variables: ReadonlyMap<string, ServerInput>;
}

/** The members of a `server.json` that the service uses. */
export interface ServerJson {
  name: string;
  version: string;
  title: string | null;
  description: string | null;
  websiteUrl: string | null;
  repository: { url: string; source: string } | null;
}

/** Reads a `server.json`. Ignores unknown members, because the format belongs to the public registry. */
export class ServerJsonReader {
  readonly faults: FieldError[] = [];

  server(source: Record<string, unknown>, pointer: string): ServerJson {
    const name = this.text(source, 'name', pointer, NAME_MAX);
    if (name !== null && !REGISTRY_NAME_PATTERN.test(name)) {
      this.fault(`${pointer}/name`, 'must have the form namespace/name, such as io.github.user/weather');
    }
    return {
      name: name ?? '',
      version: this.text(source, 'version', pointer, VERSION_MAX) ?? '',
      title: this.optional(source, 'title', pointer, TITLE_MAX),
      description: this.optional(source, 'description', pointer, TEXT_MAX),
      websiteUrl: this.optional(source, 'websiteUrl', pointer, LINK_MAX),
      repository: this.repository(source, pointer),
    };
  }

  /** Reads one remote. Records a fault and returns null if it is missing or invalid. */
  remote(source: Record<string, unknown>, index: number, pointer: string): Remote | null {
    const { remotes } = source;
    if (!Array.isArray(remotes) || remotes.length === 0) {
      const detail = 'is required. A server that has only packages runs locally and cannot be registered.';
      return this.fault(`${pointer}/remotes`, detail);
    }
    const place = `${pointer}/remotes/${index}`;
    const remote: unknown = remotes[index];
    if (remote === undefined) return this.fault('/remote', `must be less than ${remotes.length}`);
    if (!isJsonObject(remote)) return this.fault(place, 'must be an object');
    const transport = TRANSPORT_OF.get(remote.type);
    if (!transport)
      return this.fault(`${place}/type`, `must be one of ${[...TRANSPORT_OF.keys()].join(', ')}`);
    const url = this.text(remote, 'url', place, LINK_MAX);
    const { headers = [] } = remote;
    if (!Array.isArray(headers)) return this.fault(`${place}/headers`, 'must be an array');
    const read = headers.flatMap((header, i) => this.header(header, `${place}/headers/${i}`) ?? []);
    const variables = this.inputs(remote, place);
    return url === null ? null : { transport, url, headers: read, variables };
  }

  fault(pointer: string, detail: string): null {
    this.faults.push({ pointer, detail });
    return null;
  }

  private repository({ repository }: Record<string, unknown>, pointer: string): ServerJson['repository'] {
    if (!isJsonObject(repository)) return null;
    const url = this.optional(repository, 'url', `${pointer}/repository`, LINK_MAX);
    const source = this.optional(repository, 'source', `${pointer}/repository`, VERSION_MAX);
    return url !== null && source !== null ? { url, source } : null;
  }

  private header(source: unknown, pointer: string): ServerHeader | null {
    if (!isJsonObject(source)) return this.fault(pointer, 'must be an object');
    const name = this.text(source, 'name', pointer, VERSION_MAX);
    if (name === null) return null;
    return { ...this.input(source, pointer), pointer, name, variables: this.inputs(source, pointer) };
  }

  private inputs(source: Record<string, unknown>, pointer: string): Map<string, ServerInput> {
    const { variables = {} } = source;
    if (!isJsonObject(variables)) {
      this.fault(`${pointer}/variables`, 'must be an object');
      return new Map();
    }
    const inputs = new Map<string, ServerInput>();
    for (const [name, variable] of Object.entries(variables)) {
      const place = `${pointer}/variables/${pointerToken(name)}`;
      if (isJsonObject(variable)) inputs.set(name, this.input(variable, place));
      else this.fault(place, 'must be an object');
    }
    return inputs;
  }

  private input(source: Record<string, unknown>, pointer: string): ServerInput {
    const choices: unknown = source.choices;
    return {
      description: this.optional(source, 'description', pointer, TEXT_MAX),
      isRequired: source.isRequired === true,
      // a value such as "true" must not turn a secret into a text that is shown
      isSecret: (source.isSecret ?? false) !== false,
      value: this.optional(source, 'value', pointer, TEXT_MAX),
      default: this.optional(source, 'default', pointer, TEXT_MAX),
      choices: Array.isArray(choices) ? choices.filter((one) => typeof one === 'string') : [],
    };
  }

  private text(source: Record<string, unknown>, member: string, pointer: string, max: number): string | null {
    if (source[member] === undefined || source[member] === null) {
      return this.fault(`${pointer}/${member}`, 'is required');
    }
    const text = this.optional(source, member, pointer, max);
    return text === '' ? this.fault(`${pointer}/${member}`, 'must not be empty') : text;
  }

  private optional(
    source: Record<string, unknown>,
    member: string,
    pointer: string,
    max: number,
  ): string | null {
    const text = source[member];
    if (text === undefined || text === null) return null;
    if (typeof text !== 'string') return this.fault(`${pointer}/${member}`, 'must be a string');
    if (text.length > max) return this.fault(`${pointer}/${member}`, `must have at most ${max} characters`);
    return text;
  }
}
