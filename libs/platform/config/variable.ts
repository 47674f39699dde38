import { isNumberString, isURL } from 'class-validator';
import ipaddr from 'ipaddr.js';

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

/** A range of IP addresses: its first address and the length of its prefix, in bits. */
export type IpRange = readonly [address: IpAddress, prefix: number];

/** Tells whether an address is in one of the ranges. */
export const isIn = (address: IpAddress, ranges: readonly IpRange[]): boolean =>
  ranges.some(
    ([range, prefix]) =>
      // the two kinds have the same method, with types that exclude each other
      range.kind() === address.kind() && (address as ipaddr.IPv6).match(range as ipaddr.IPv6, prefix),
  );

/** How an environment variable is read. */
export class Variable<Value, Default = undefined> {
  /**
   * @param rule completes a sentence that begins with the name of the variable, such as "must be …"
   * @param parse returns undefined for an invalid text
   */
  constructor(
    readonly rule: string,
    readonly parse: (text: string) => Value | undefined,
    readonly fallback: Default,
  ) {}

  /** Returns this variable with a value for when it is not set. */
  or(fallback: Value): Variable<Value, Value> {
    return new Variable(this.rule, this.parse, fallback);
  }
}

const variable = <Value>(rule: string, parse: (text: string) => Value | undefined): Variable<Value> =>
  new Variable(rule, parse, undefined);

/** Any text that matches a pattern. */
export const matching = (rule: string, pattern: RegExp): Variable<string> =>
  variable(rule, (text) => (pattern.test(text) ? text : undefined));

export const text = () => matching('must be a text', /^/);

/** A model's name. */
export const modelName = () => matching('must have 1 to 255 characters', /^[^]{1,255}$/);

/** The credential of an outbound request. */
export const apiKey = () =>
  matching('must contain only visible ASCII characters, without spaces', /^[\x21-\x7e]+$/);

export const httpUrl = () =>
  variable('must be an http or https URL without user and password', (value) =>
    isURL(value, {
      require_tld: false,
      protocols: ['http', 'https'],
      require_protocol: true,
      disallow_auth: true,
    })
      ? value
      : undefined,
  );

export const number = () =>
  variable('must be a number', (value) => (isNumberString(value) ? value : undefined));

export const integer = (min: number, max: number) =>
  variable(`must be an integer from ${min} to ${max}`, (value) => {
    const integer = /^-?\d+$/.test(value.trim()) ? Number(value) : NaN;
    return integer >= min && integer <= max ? integer : undefined;
  });

export const oneOf = <Value extends string>(...values: Value[]) =>
  variable(`must be one of ${values.join(', ')}`, (value) => values.find((one) => one === value));

/** A JSON document. Invalid JSON stays a string, which the validation of its reader reports. */
export const json = () =>
  variable<unknown>('must be JSON', (value) => {
    try {
      return JSON.parse(value) as unknown;
    } catch {
      return value;
    }
  });

/** Values separated by commas. */
const listOf = <Value>(rule: string, parse: (text: string) => Value | undefined) =>
  variable<readonly Value[]>(`must be ${rule}, separated by commas`, (value) => {
    const values = value.split(',').map((one) => parse(one.trim()));
    return values.every((one) => one !== undefined) ? values : undefined;
  });

export const ipRanges = () =>
  listOf('IP addresses and ranges such as 10.0.0.0/8', (value): IpRange | undefined => {
    try {
      if (value.includes('/')) return ipaddr.parseCIDR(value);
      const address = ipaddr.process(value);
      return [address, address.kind() === 'ipv4' ? 32 : 128];
    } catch {
      return undefined;
    }
  });

const SECRET_KEY = /^[A-Za-z0-9+/_-]{43}=?$/;

/** A key of 32 bytes in base64. */
export const secretKey = () => matching('must be 32 bytes in base64', SECRET_KEY);

/** Keys of 32 bytes in base64. */
export const secretKeys = () =>
  listOf('keys of 32 bytes in base64', (value) => (SECRET_KEY.test(value) ? value : undefined));

/** Origins of web pages. */
export const origins = () =>
  listOf('origins such as https://app.example.com', (value) =>
    /^https?:/.test(value) && URL.canParse(value) && new URL(value).origin === value ? value : undefined,
  );
