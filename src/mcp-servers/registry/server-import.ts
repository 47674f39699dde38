import { pointerToken } from '#platform/http';
import { isJsonObject } from '#platform/json';
import { problem } from '#platform/problem';
import { authFaults, type GivenAuth, urlFault } from '../servers/server-auth';
import { URL_MAX } from '../servers/server-auth.dto';
import type { CreateServerDto } from '../servers/server.dto';
import type { ImportServerDto } from './server-import.dto';
import {
  type Remote,
  type ServerHeader,
  type ServerInput,
  type ServerJson,
  ServerJsonReader,
} from './server-json';

/** The most faults that one answer reports. */
const FAULTS_MAX = 100;

/** A variable in a template. */
const VARIABLE = /\{([a-zA-Z_][a-zA-Z0-9_-]*)\}/g;

/** The member of a server's metadata that says which server of the public registry it is. */
export const ORIGIN = 'mcp_registry';

/** Returns the `server.json` of a body, with its pointer. The public registry's API wraps it in an object. */
const serverJsonIn = ({ server }: ImportServerDto): [Record<string, unknown>, string] =>
  server.name === undefined && isJsonObject(server.server)
    ? [server.server, '/server/server']
    : [server, '/server'];

/** Returns the server to register. Errors: 400 for a `server.json` that has no usable remote, and for missing values. */
export function importedServer(dto: ImportServerDto): CreateServerDto {
  const index = dto.remote ?? 0;
  const reader = new ServerJsonReader();
  const [json, pointer] = serverJsonIn(dto);
  const server = reader.server(json, pointer);
  const remote = reader.remote(json, index, pointer);
  const filled = remote && new RemoteForm(reader, remote, dto, `${pointer}/remotes/${index}`).fill();
  if (!filled || reader.faults.length > 0) throw problem.invalidFields(reader.faults.slice(0, FAULTS_MAX));
  return {
    workspace_id: dto.workspace_id,
    name: dto.name ?? server.name.split('/')[1]!,
    description: server.description,
    metadata: { [ORIGIN]: originOf(server) },
    ...filled,
  };
}

function originOf({ name, version, title, websiteUrl, repository }: ServerJson): object {
  return {
    name,
    version,
    ...(title !== null && { title }),
    ...(websiteUrl !== null && { websiteUrl }),
    ...(repository && { repository }),
  };
}

/** Fills the templates of a remote with the values of a body. */
class RemoteForm {
  private readonly values = new Map<string, string>();
  private readonly used = new Set<string>();
  private isAuthValueUsed = false;

  constructor(
    private readonly reader: ServerJsonReader,
    private readonly remote: Remote,
    private readonly body: ImportServerDto,
    private readonly pointer: string,
  ) {
    for (const [name, value] of Object.entries(body.variables ?? {})) {
      if (typeof value === 'string') this.values.set(name, value);
      else reader.fault(`/variables/${pointerToken(name)}`, 'must be a string');
    }
  }

  fill(): Pick<CreateServerDto, 'url' | 'transport' | 'auth'> {
    const url = this.url();
    const auth = this.auth();
    for (const name of this.values.keys()) {
      if (this.used.has(name)) continue;
      this.reader.fault(`/variables/${pointerToken(name)}`, 'is not a variable of this remote');
    }
    if (auth) this.reader.faults.push(...authFaults(auth, '/auth'));
    return { url, transport: this.remote.transport, auth };
  }

  private url(): string {
    const { url: template, variables } = this.remote;
    for (const [, name] of template.split('?')[0]!.matchAll(VARIABLE)) {
      if (variables.get(name!)?.isSecret !== true) continue;
      const detail = `has the secret variable {${name}} outside of its query, where searches and logs would show it`;
      this.reader.fault(`${this.pointer}/url`, detail);
    }
    const missing = this.missing(template, variables, true);
    for (const name of missing) this.require(name, variables.get(name), 'the URL of the remote');
    const url = this.filled(template, variables);
    const fault = missing.length > 0 ? null : urlFault(url);
    if (fault !== null) this.reader.fault(`${this.pointer}/url`, fault);
    if (url.length > URL_MAX) {
      this.reader.fault(`${this.pointer}/url`, `may have at most ${URL_MAX} characters`);
    }
    return url;
  }

  private auth(): GivenAuth | null {
    const { auth } = this.body;
    const required = this.remote.headers.filter((header) => header.isRequired || header.value !== null);
    if (auth?.type !== undefined) {
      const given = { ...auth, type: auth.type };
      const unsent = required.filter(({ name }) => !isSentBy(given, name));
      if (unsent.length > 0) {
        this.reader.fault('/auth', `does not send the header ${namesOf(unsent)}, which the remote requires`);
      }
      return given;
    }
    const optional = auth?.value == null && auth?.header == null ? [] : this.remote.headers;
    const possible = (required.length > 0 ? required : optional).filter(
      ({ name }) => auth?.header == null || name.toLowerCase() === auth.header.toLowerCase(),
    );
    this.checkOneHeader(required.length > 1 ? required : possible);
    const [header] = possible;
    const given = header && this.authOf(header);
    const noSuch = 'requires a `type`, because the remote has no such header';
    if (auth?.header != null && !header) {
      const isOther = required.length > 0;
      const detail = isOther ? `must be ${namesOf(required)}, which the remote requires` : noSuch;
      this.reader.fault('/auth/header', detail);
    } else if (auth?.value != null && !this.isAuthValueUsed) {
      const detail = header
        ? `is not needed: the header ${header.name} gets its value from the remote`
        : noSuch;
      this.reader.fault('/auth/value', detail);
    }
    return given ?? null;
  }

  private checkOneHeader(headers: readonly ServerHeader[]): void {
    if (headers.length <= 1) return;
    const advice = headers.every(({ isRequired }) => !isRequired)
      ? 'Name it in `auth.header`.'
      : 'Choose another remote.';
    const detail = `has the headers ${namesOf(headers)}, but the service can only send one. ${advice}`;
    this.reader.fault(`${this.pointer}/headers`, detail);
  }

  private authOf(header: ServerHeader): GivenAuth | null {
    const value = this.headerValue(header);
    if (value === null) return null;
    const bearer = /^authorization$/i.test(header.name) ? /^Bearer +(\S+)$/i.exec(value) : null;
    return bearer ? { type: 'bearer', value: bearer[1]! } : { type: 'header', header: header.name, value };
  }

  private headerValue(header: ServerHeader): string | null {
    const given = this.body.auth?.value ?? null;
    if (header.value === null) {
      this.isAuthValueUsed = given !== null;
      return given ?? header.default ?? this.requireValue(header);
    }
    const missing = this.missing(header.value, header.variables, false);
    if (missing.length === 1 && given !== null) {
      this.values.set(missing[0]!, given);
      this.isAuthValueUsed = true;
    } else {
      for (const name of missing) this.require(name, header.variables.get(name), `the header ${header.name}`);
      if (missing.length > 0) return null;
    }
    return this.filled(header.value, header.variables);
  }

  private requireValue({ name, description }: ServerHeader): null {
    return this.reader.fault(
      '/auth/value',
      `is required: the value of the header ${name}${explained(description)}`,
    );
  }

  private require(name: string, input: ServerInput | undefined, where: string): void {
    const detail = `is required by ${where}${explained(input?.description ?? null)}`;
    this.reader.fault(`/variables/${name}`, detail);
  }

  /** Returns the variables of a template that have no value. @param isAny also those that are not declared */
  private missing(template: string, declared: ReadonlyMap<string, ServerInput>, isAny: boolean): string[] {
    const names = new Set([...template.matchAll(VARIABLE)].map(([, name]) => name!));
    return [...names].filter(
      (name) => (isAny || declared.has(name)) && this.valueOf(name, declared.get(name)) === undefined,
    );
  }

  /** Replaces the variables that have a value. */
  private filled(template: string, declared: ReadonlyMap<string, ServerInput>): string {
    return template.replace(VARIABLE, (whole, name: string) => {
      const input = declared.get(name);
      const value = this.valueOf(name, input);
      this.used.add(name);
      if (value !== undefined && input && input.choices.length > 0 && !input.choices.includes(value)) {
        this.reader.fault(`/variables/${name}`, `must be one of ${input.choices.slice(0, 100).join(', ')}`);
      }
      return value ?? whole;
    });
  }

  /** A fixed value cannot be changed. */
  private valueOf(name: string, input: ServerInput | undefined): string | undefined {
    return input?.value ?? this.values.get(name) ?? input?.default ?? undefined;
  }
}

const isSentBy = ({ type, header }: GivenAuth, name: string): boolean =>
  type === 'header'
    ? header?.toLowerCase() === name.toLowerCase()
    : type !== 'none' && /^authorization$/i.test(name);

const namesOf = (headers: readonly ServerHeader[]): string =>
  headers
    .slice(0, 10)
    .map(({ name }) => name)
    .join(', ');

const explained = (description: string | null): string =>
  description === null || description === '' ? '' : ` (${description.slice(0, 200)})`;
