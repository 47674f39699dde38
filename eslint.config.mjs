// Type-checked rules: the mistakes worth a tool are those the compiler lets pass, above all a promise nobody waits
// for. Layout is Prettier's.
import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const NODE_GLOBALS = [
  'console',
  'process',
  'require',
  'module',
  'URL',
  'Buffer',
  'fetch',
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
];

export default defineConfig(
  globalIgnores(['dist/', 'coverage/', '.data/']),
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Under emitDecoratorMetadata a class that Nest injects must stay a value import: the rule leaves files with
      // decorators alone, which it learns from the compiler options.
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      // Nest's modules are classes with nothing but a decorator.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      // A passport strategy may validate asynchronously, whatever its base class declares.
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { inheritedMethods: false } }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      // What comes from outside is not always what its type says; a check too many is no mistake.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // With noUncheckedIndexedAccess it is how code says that an index is in range.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Views are DTO classes for the sake of OpenAPI, and made as object literals.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // Entities and views are classes for the sake of their decorators, and hold nothing but data.
      '@typescript-eslint/no-misused-spread': 'off',
      // `read<Body>()` says what the caller expects of foreign JSON.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      // It takes assertions for unnecessary that steer what is inferred, and mending them breaks callers.
      '@typescript-eslint/no-unnecessary-type-assertion': 'off',
      // `return next()` is the custom in handlers.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      // The type numbers of pg's parsers; the rule also takes a fifth of the time.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      // Parsers and checks of untrusted text name control characters on purpose.
      'no-control-regex': 'off',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },
  {
    files: ['src/**/*.ts', 'libs/**/*.ts'],
    rules: { 'no-console': 'error' }, // The service speaks through its logger.
  },
  {
    files: ['**/*.spec.ts', 'test/**/*.ts', 'libs/testing/**/*.ts'],
    rules: {
      // expect(service.method) and the like.
      '@typescript-eslint/unbound-method': 'off',
      // What an answer holds is what the test is about to find out.
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/restrict-plus-operands': 'off',
    },
  },
  {
    files: ['**/*.{mjs,cjs,js}'],
    languageOptions: { globals: Object.fromEntries(NODE_GLOBALS.map((name) => [name, 'readonly'])) },
  },
  prettier,
);
