import { registerDecorator, type ValidationArguments } from 'class-validator';

/**
 * A member that is the upper end of a range: not below the member that is the lower end, where both are given and are
 * what they should be.
 *
 * @param order what the values are compared by; null for a value that is not of the right form, which others say
 */
export const NotBelow =
  (lower: string, order: (value: unknown) => number | null): PropertyDecorator =>
  (target, property) => {
    registerDecorator({
      name: 'notBelow',
      target: target.constructor,
      propertyName: String(property),
      validator: {
        validate: (value: unknown, { object }: ValidationArguments) => {
          const [from, to] = [order((object as Record<string, unknown>)[lower]), order(value)];
          return from === null || to === null || from <= to;
        },
        defaultMessage: () => `must not be below ${lower}, or nothing could be found`,
      },
    });
  };
