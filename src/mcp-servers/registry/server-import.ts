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
      else this.faultIn(name, 'must be a string');
    }
  }

  fill(): Pick<CreateServerDto, 'url' | 'transport' | 'auth'> {
    const url = this.url();
    const auth = this.auth();
    for (const name of this.values.keys()) {
      if (!this.used.has(name)) this.faultIn(name, 'is not a variable of this remote');
    }
    if (auth) this.reader.faults.push(...authFaults(auth, '/auth'));
    return { url, transport: this.remote.transport, auth };
  }

  private url(): string {
    const { url: template, variables } = this.remote;
    for (const [, name] of template.split('?')[0]!.matchAll(VARIABLE)) {
      if (variables.get(name!)?.isSecret !== true) continue;
      const detail = `has the secret variable {${name}} outside its query, where searches and logs would show it. Choose another remote.`;
      this.reader.fault(`${this.pointer}/url`, detail);
    }
    const missing = this.missing(template, variables);
    for (const name of missing) this.require(name, variables.get(name), 'the URL of the remote');
    const url = this.filled(template, variables, (value, name, offset) =>
      this.urlPart(value, name, template, offset),
    );
    const fault = missing.length > 0 || this.reader.faults.length > 0 ? null : urlFault(url);
    if (fault !== null) this.reader.fault(`${this.pointer}/url`, fault);
    if (url.length > URL_MAX) {
      this.reader.fault(`${this.pointer}/url`, `may have at most ${URL_MAX} characters`);
    }
    return url;
  }

  /** Returns a value as a part of the URL, whose structure it cannot change. It can be the beginning, or the whole query. */
  private urlPart(value: string, name: string, template: string, offset: number): string {
    const before = template.slice(0, offset);
    const isQuery = before.endsWith('?') && template.length === offset + name.length + 2;
    if (before === '' || isQuery) return value;
    if (!/^[a-z]+:\/\/[^/?]*$/i.test(before)) {
      if (!/^\.\.?$/.test(value)) return encodeURIComponent(value);
      this.faultIn(name, 'must not be a dot segment');
    } else if (!/^[a-z0-9.:-]+$/i.test(value)) {
      this.faultIn(name, 'must be a part of a host name');
    }
    return value;
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
    for (const member of MEMBERS_OF_OAUTH) {
      if (auth?.[member] != null) this.reader.fault(`/auth/${member}`, 'is only allowed with `type`');
    }
    const optional = auth?.value == null && auth?.header == null ? [] : this.remote.headers;
    const possible = (required.length > 0 ? required : optional).filter(
      ({ name }) => auth?.header == null || name.toLowerCase() === auth.header.toLowerCase(),
    );
    this.checkOneHeader(required.length > 1 ? required : possible);
    const [header] = possible;
    const given = header && this.authOf(header);
    if (auth?.header != null && !header) {
      const detail =
        required.length > 0
          ? `must be ${namesOf(required)}, which the remote requires`
          : 'requires a `type`, because the remote does not declare this header';
      this.reader.fault('/auth/header', detail);
    } else if (auth?.value != null && !this.isAuthValueUsed) {
      const detail = header
        ? `is not needed, because the remote sets the header ${header.name} itself. Remove it.`
        : 'requires a `type`, because the remote declares no header';
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
    const isAuthorization = /^authorization$/i.test(header.name);
    // A remote that declares no template leaves the scheme to its description.
    const form = header.value === null ? /^(?:Bearer +)?(\S+)$/i : /^Bearer +(\S+)$/i;
    const bearer = isAuthorization ? form.exec(value) : null;
    return bearer ? { type: 'bearer', value: bearer[1]! } : { type: 'header', header: header.name, value };
  }

  private headerValue(header: ServerHeader): string | null {
    const given = this.body.auth?.value ?? null;
    if (header.value === null) {
      this.isAuthValueUsed = given !== null;
      this.checkChoice(given, header, '/auth/value');
      return given ?? header.default ?? this.requireValue(header);
    }
    const missing = this.missing(header.value, header.variables);
    if (missing.length === 1 && given !== null) {
      const hasScheme = /^Bearer +\{/i.test(header.value);
      this.values.set(missing[0]!, hasScheme ? given.replace(/^Bearer +/i, '') : given);
      this.isAuthValueUsed = true;
    } else {
      for (const name of missing) this.require(name, header.variables.get(name), `the header ${header.name}`);
      if (missing.length > 0) return null;
    }
    return this.filled(header.value, header.variables, (value) => value);
  }

  private requireValue({ name, description }: ServerHeader): null {
    return this.reader.fault(
      '/auth/value',
      `is required: the value of the header ${name}${explained(description)}`,
    );
  }

  private require(name: string, input: ServerInput | undefined, where: string): void {
    this.faultIn(name, `is required by ${where}${explained(input?.description ?? null)}`);
  }

  /** Returns the variables of a template that have no value, declared or not. */
  private missing(template: string, declared: ReadonlyMap<string, ServerInput>): string[] {
    const names = new Set([...template.matchAll(VARIABLE)].map(([, name]) => name!));
    return [...names].filter((name) => this.valueOf(name, declared.get(name)) === undefined);
  }

  /**
   * Replaces the variables that have a value.
   *
   * @param form turns a value of the body into its part of the template
   */
  private filled(
    template: string,
    declared: ReadonlyMap<string, ServerInput>,
    form: (value: string, name: string, offset: number) => string,
  ): string {
    return template.replace(VARIABLE, (whole, name: string, offset: number) => {
      const input = declared.get(name);
      const value = this.valueOf(name, input);
      this.used.add(name);
      this.checkChoice(value, input, `/variables/${pointerToken(name)}`);
      const isGiven = value !== undefined && value === this.values.get(name);
      return isGiven && !input?.choices.includes(value) ? form(value, name, offset) : (value ?? whole);
    });
  }

  private checkChoice(
    value: string | null | undefined,
    input: ServerInput | undefined,
    pointer: string,
  ): void {
    if (value == null || !input || input.choices.length === 0 || input.choices.includes(value)) return;
    this.reader.fault(pointer, `must be one of ${input.choices.slice(0, 100).join(', ')}`);
  }

  /** A fixed value cannot be changed. */
  private valueOf(name: string, input: ServerInput | undefined): string | undefined {
    return input?.value ?? this.values.get(name) ?? input?.default ?? undefined;
  }

  private faultIn(name: string, detail: string): void {
    this.reader.fault(`/variables/${pointerToken(name)}`, detail);
  }
}

const MEMBERS_OF_OAUTH = ['token_url', 'client_id', 'client_secret', 'scope'] as const;

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
