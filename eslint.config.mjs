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
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      // What comes from outside is not always what its type says; a check too many is no mistake.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      eqeqeq: 'error',
    },
  },
  {
    files: ['src/**/*.ts', 'libs/**/*.ts'],
    rules: { 'no-console': 'error' }, // The service speaks through its logger.
  },
  {
    files: ['**/*.spec.ts', 'test/**/*.ts'],
    rules: {
      // expect(service.method) and the like.
      '@typescript-eslint/unbound-method': 'off',
      // A test fails all the same where there is nothing.
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    files: ['**/*.{mjs,cjs,js}'],
    languageOptions: { globals: Object.fromEntries(NODE_GLOBALS.map((name) => [name, 'readonly'])) },
  },
  prettier,
);
