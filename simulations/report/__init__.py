"""The report: one self-contained HTML page about a study's store.

`page.make_page` turns results into plain data, `render.render` fills the template with data, style and scripts. The
page computes the bounds itself (`assets/bounds.js`), so that a reader can move theta, kappa Lambda, the gap and K.
"""
