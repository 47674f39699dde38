import { Column, type ColumnOptions } from 'typeorm';
import { RawJson, toJsonText } from '#platform/json';

/**
 * A column of type `json` in which a client's value is kept as it came: member order, spelling of numbers. The
 * property is a `RawJson` when read; any JSON value may be written to it.
 */
export const JsonColumn = (options: ColumnOptions = {}): PropertyDecorator =>
  Column({
    ...options,
    // text to TypeORM, which would otherwise serialise the value again in its own way
    type: 'text',
    transformer: {
      to: (value: unknown) =>
        value === undefined || value === null
          ? value
          : value instanceof RawJson
            ? value.text
            : toJsonText(value),
      from: (value: unknown) => value,
    },
  });
