// Checks the site in the folder given: each link and anchor leads somewhere, and the search finds each message of the page of
// troubleshooting, with the options of the search box.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import MiniSearch from 'minisearch'

const [site, troubleshooting] = process.argv.slice(2)
const base = process.env.SITE_BASE || '/'
const faults = []

const files = readdirSync(site, { recursive: true }).map(name => '/' + name.replaceAll('\\', '/'))
const html = new Map(files.filter(name => name.endsWith('.html')).map(name => [name, readFileSync(join(site, name), 'utf8')]))
const anchors = new Map([...html].map(([name, text]) => [name, new Set([...text.matchAll(/ id="([^"]*)"/g)].map(m => m[1]))]))
let links = 0
for (const [name, text] of html) {
  for (const [, href] of text.matchAll(/ (?:href|src)="([^"]*)"/g)) {
    if (name === '/404.html' || /^([a-z]+:|\/\/)/.test(href)) continue
    links++
    const { pathname, hash } = new URL(href, 'http://site' + base + name.slice(1))
    let to = decodeURIComponent(pathname)
    to = to.startsWith(base) ? '/' + to.slice(base.length) : 'outside the site'
    to = [to, to + 'index.html', to + '.html'].find(file => files.includes(file) && !file.endsWith('/'))
    if (!to) faults.push(`${name} links to ${href}, which does not exist`)
    else if (hash && !anchors.get(to)?.has(decodeURIComponent(hash.slice(1)))) faults.push(`${name} links to ${href}: no such heading`)
  }
}

const [index] = files.filter(name => name.includes('localSearchIndexroot'))
const script = readFileSync(join(site, index), 'utf8')
const search = MiniSearch.loadJSON((await import('data:text/javascript,' + encodeURIComponent(script))).default, {
  fields: ['title', 'titles', 'text'],
  storeFields: ['title', 'titles'],
  searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } },
})
const messages = readFileSync(troubleshooting, 'utf8').split(/^## Questions$/m)[0].match(/^### .*$/gm)
let first = 0
for (const heading of messages) {
  const words = heading.slice(4).replaceAll('`', '').replaceAll('...', ' ')
  const at = search.search(words).findIndex(hit => hit.id.includes('troubleshooting') &&
    hit.title.replaceAll(/\W/g, '') === heading.replaceAll(/\W/g, ''))
  if (at === 0) first++
  if (at < 0 || at > 2) faults.push(`the search for ${JSON.stringify(words)} finds its explanation at place ${at + 1}`)
}

console.log(`${html.size} pages, ${links} links; of ${messages.length} messages the search finds ${first} first`)
if (messages.length < 30 || html.size < 50 || links < 1000) faults.push('fewer than expected')
for (const fault of faults) console.error(fault)
process.exit(faults.length ? 1 : 0)
