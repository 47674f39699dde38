import { normalizeRepoUrl, repoNameOf } from './repo-url';

describe('a repository URL', () => {
  it.each([
    'https://github.com/acme/agents',
    'https://github.com/acme/agents.git',
    'https://github.com/acme/agents/',
    'https://github.com/acme/agents.git/',
    'https://github.com//acme//agents',
    'https://GitHub.com/acme/agents',
    'https://github.com./acme/agents',
    'https://github.com:443/acme/agents',
    'http://github.com/acme/agents',
    'http://github.com:80/acme/agents.git',
    'https://ada@github.com/acme/agents.git',
    'https://ada:secret@github.com/acme/agents.git',
    'https://github.com/%61cme/agents',
    'HTTPS://github.com/acme/agents',
    'git://github.com/acme/agents.git',
    'git://github.com:9418/acme/agents.git',
    'ssh://git@github.com/acme/agents.git',
    'ssh://git@github.com:22/acme/agents.git',
    'ssh://git@github.com:2222/acme/agents.git',
    'ssh://git@ssh.github.com:443/acme/agents.git',
    'git+ssh://git@github.com/acme/agents.git',
    'git+https://github.com/acme/agents.git',
    'git@github.com:acme/agents.git',
    'git@github.com:acme/agents',
    'git@github.com:/acme/agents.git',
    'git@GITHUB.com:acme/agents.git',
    'github.com:acme/agents',
    '  git@github.com:acme/agents.git\n',
  ])('is normalized from %j', (text) => {
    expect(normalizeRepoUrl(text)).toBe('https://github.com/acme/agents');
  });

  it.each([
    ['https://git.acme.io:8443/acme/agents', 'https://git.acme.io:8443/acme/agents'],
    ['http://git.acme.io:443/acme/agents', 'https://git.acme.io:443/acme/agents'],
    ['https://git.acme.io:80/acme/agents', 'https://git.acme.io:80/acme/agents'],
    ['https://github.com/Acme/Agents', 'https://github.com/Acme/Agents'],
    ['https://github.com/acme/agents.github', 'https://github.com/acme/agents.github'],
    ['https://gitlab.com/acme/team/deep/agents', 'https://gitlab.com/acme/team/deep/agents'],
    ['git@[2001:DB8::1]:acme/agents', 'https://[2001:db8::1]/acme/agents'],
    ['https://bücher.example/acme/agents', 'https://xn--bcher-kva.example/acme/agents'],
    ['https://example.com/acme/bücher', 'https://example.com/acme/b%C3%BCcher'],
    ['https://example.com/acme/b%c3%bccher', 'https://example.com/acme/b%C3%BCcher'],
    ['git@host:2222/acme/agents', 'https://host/2222/acme/agents'],
  ])('is normalized from %s to %s', (text, url) => {
    expect(normalizeRepoUrl(text)).toBe(url);
  });

  it.each([
    '',
    'agents',
    'acme/agents',
    '/srv/git/agents',
    './agents',
    'C:\\agents',
    'file:///srv/git/agents',
    'ftp://example.com/agents',
    'javascript:alert(1)',
    'https://',
    'https://github.com',
    'https://github.com/',
    'https://github.com/.git',
    'https://github.com/acme/../other/agents',
    'https://github.com/acme/%2e%2e/agents',
    'https://github.com/acme/agents?ref=main',
    'https://github.com/acme/agents#readme',
    'https://github.com/acme/agents?',
    'https://exa mple.com/acme/agents',
    'https://example.com:99999/acme/agents',
    'git@github.com:',
    'https://github.com/acme/a\0b',
    'https://github.com/acme/a%00b',
    'https://github.com/acme/a%0ab',
    `https://github.com/acme/${'\u4e00'.repeat(400)}`,
  ])('cannot be %j', (text) => {
    expect(normalizeRepoUrl(text)).toBeNull();
  });

  it('gives the repository its default name', () => {
    expect(repoNameOf('https://github.com/acme/agents')).toBe('agents');
    expect(repoNameOf('https://example.com/acme/b%C3%BCcher')).toBe('bücher');
    expect(repoNameOf('https://example.com/acme/b%FF')).toBe('b%FF');
    expect(repoNameOf('https://example.com/acme/b%2Fc')).toBe('b%2Fc');
    expect(repoNameOf(`https://example.com/acme/${'x'.repeat(2000)}`)).toBe('x'.repeat(255));
  });
});
