import { Column, type ColumnOptions } from 'typeorm';
import { storedJson, toRawJson } from '#platform/json';

/**
 * A column of type `json` that stores a client's value verbatim, with its member order and number spelling. Reading the
 * property returns a `RawJson`; any JSON value may be written to it.
 */
export const JsonColumn = (options: ColumnOptions = {}): PropertyDecorator =>
  Column({
    ...options,
    // declared as text, because TypeORM would serialize JSON values in its own way
    type: 'text',
    transformer: {
      to: (value: unknown) =>
        value === undefined || value === null ? value : storedJson(toRawJson(value).text),
      from: (value: unknown) => value,
    },
  });
