// The documentation site: the pages of the checkout, read where they are. `build` copies this file next to the packages.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path/posix'
import { fileURLToPath } from 'node:url'

const root = process.env.SITE_CHECKOUT
const source = 'https://github.com/fedfast/fedfast'
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)
const isPage = file => file.endsWith('.md') && !file.startsWith('.')
const pages = new Set(git('ls-files').filter(file => isPage(file) && existsSync(join(root, file))))

// Where a page of the checkout stands on the site.
function route(page) {
  return page.replace(/^cmd\/fedfast\/docs\//, 'docs/').replace(/(^|\/)README\.md$/, '$1index.md')
}

// A relative link between files of the checkout, as one between pages of the site or to the source.
function rewrite(page, href) {
  if (/^([a-z]+:|#)/.test(href)) return href
  const [to, anchor] = href.split('#')
  const file = join(dirname(page), decodeURI(to)).replace(/\/$/, '')
  const found = [file, join(file, 'README.md')].find(name => pages.has(name))
  if (found) return '/' + route(found) + (anchor ? '#' + anchor : '')
  if (!existsSync(join(root, file))) throw new Error(`${page} links to ${href}, which does not exist`)
  return `${source}/blob/main/${file}`
}

// HTML is off, so that a < in a page stays one: comments are left out here.
function plugins(md) {
  md.core.ruler.before('normalize', 'comments', state => {
    state.src = state.src.replace(/^<!--.*-->$/gm, '')
  })
  md.core.ruler.push('links', state => {
    for (const token of state.tokens) {
      if (token.type === 'code_block') Object.assign(token, { type: 'fence', info: 'text' }) // indented ones have no look of their own
    }
    const page = relative(root, state.env.realPath ?? state.env.path)
    for (const token of state.tokens.flatMap(token => token.children ?? [])) {
      if (token.type === 'link_open') token.attrSet('href', rewrite(page, token.attrGet('href')))
    }
  })
}

const read = page => readFileSync(join(root, page), 'utf8')
const title = page => read(page).match(/^# (.*)$/m)[1].replaceAll('`', '')
const item = page => ({ text: title(page), link: '/' + route(page) })

// The sidebar has what the index of the documentation links to, under its headings, then all other pages.
function sidebar() {
  const index = 'cmd/fedfast/docs/README.md'
  const listed = new Set(['README.md', index])
  const group = (text, of, collapsed) => {
    const items = of.filter(page => !listed.has(page))
    items.forEach(page => listed.add(page))
    return { text, collapsed, items: items.map(item) }
  }
  const linked = text => [...text.matchAll(/\]\(([^)#:]+)[^)]*\)/g)]
    .map(([, to]) => join(dirname(index), to)).filter(page => pages.has(page))
  const [tutorials, ...sections] = read(index).split(/^\*\*(?=[A-Z])/m).slice(1)
  const rows = tutorials.split('\n').filter(line => line.startsWith('| ')).map(line => line.split('|')[2]).join('\n')
  const groups = [group('Tutorials', linked(rows))]
  for (const section of sections) groups.push(group(section.match(/^[\w ]+/)[0], linked(section), false))
  groups.push(group('Other pages', [...pages], true))
  return [{ items: [{ text: 'fedfast', link: '/' }, { text: 'Documentation', link: '/docs/' }] }, ...groups]
}

// GitHub's anchors, which the pages use.
const slugs = heading => heading.trim().toLowerCase().replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '').replaceAll(' ', '-')

export default {
  title: 'fedfast',
  description: 'A fast simulator and hyperparameter tuner for federated learning on CPUs',
  base: process.env.SITE_BASE || '/',
  srcDir: root,
  srcExclude: git('ls-files', '--others', '*.md'),
  rewrites: route,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: { config: plugins, html: false, attrs: { disable: true }, anchor: { slugify: slugs } },
  vite: {
    build: { chunkSizeWarningLimit: 2000 },
    // The packages are not above the pages: what these import is looked for from here.
    plugins: [{
      name: 'pages',
      enforce: 'pre',
      resolveId(id, from) {
        return /^vue(\/|$)/.test(id) && from?.startsWith(root) ? this.resolve(id, fileURLToPath(import.meta.url)) : null
      },
    }],
  },
  themeConfig: {
    nav: [
      { text: 'Documentation', link: '/docs/' },
      { text: 'Troubleshooting', link: '/docs/troubleshooting' },
      { text: 'Measured', link: '/bench/results/' },
      { text: 'Changes', link: '/CHANGELOG' },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: source }],
    editLink: { pattern: `${source}/edit/main/:path`, text: 'Edit this page' },
  },
}
